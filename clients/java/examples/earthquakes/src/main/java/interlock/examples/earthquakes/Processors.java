package interlock.examples.earthquakes;

import com.fasterxml.jackson.databind.node.ObjectNode;
import interlock.client.CallContext;
import interlock.client.Entity;
import interlock.client.InterlockMember;
import interlock.client.RejectedException;
import interlock.client.Written;
import interlock.client.api.ModelSpec;
import java.math.BigDecimal;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The three processors of the workflow. */
final class Processors {

    /** What the workflow asks of members, as {@code calculationNodesTags}. */
    static final String TAG = "earthquakes";

    static final ModelSpec REPORTS = new ModelSpec("earthquake", 1);
    static final ModelSpec ALERTS = new ModelSpec("earthquake-alert", 1);

    private Processors() {}

    static void register(InterlockMember member) {
        member.processor("assess", Processors::assess);
        member.processor("raise-alert", Processors::raiseAlert);
        member.processor("sign-off", Processors::signOff);
    }

    /** Adds what the report does not say itself: how deep, and how much energy. */
    private static ObjectNode assess(Entity entity, CallContext context) {
        Report report = entity.decode(Report.class);
        if (report.geometry().coordinates().size() < 3) {
            throw new RejectedException("the report has no depth");
        }
        BigDecimal depth = report.geometry().coordinates().get(2);
        ObjectNode document = entity.document();
        document.putObject("assessment")
                .put("depthKm", depth)
                .put("depthClass", Report.depthClass(depth))
                .put("energyJoules", Energy.joules(report.properties().magnitude()));
        return document;
    }

    /** Makes an alert, which is there only if the report gets to ALERTED. */
    private static ObjectNode raiseAlert(Entity entity, CallContext context) {
        Report report = entity.decode(Report.class);
        Map<String, @Nullable Object> alert = new LinkedHashMap<>();
        alert.put("reportId", report.id());
        alert.put("place", report.properties().place());
        alert.put("magnitude", report.properties().magnitude());
        alert.put("reasons", report.reasons());
        alert.put("report", context.entityId());
        Written written = context.entities().create(ALERTS, alert); // in the transaction
        return entity.document().put("alertId", written.entityId());
    }

    /**
     * Marks a report as reviewed by the user who confirmed it. The report then goes through the criteria
     * of ASSESSED once more, as a reviewed one.
     */
    private static ObjectNode signOff(Entity entity, CallContext context) {
        ObjectNode document = entity.document();
        if (!(document.get("properties") instanceof ObjectNode properties)) {
            throw new RejectedException("the report has no properties");
        }
        ObjectNode review = document.putObject("review");
        review.put("by", context.caller().id());
        review.set("statusBefore", properties.get("status"));
        properties.put("status", "reviewed");
        return document;
    }
}
