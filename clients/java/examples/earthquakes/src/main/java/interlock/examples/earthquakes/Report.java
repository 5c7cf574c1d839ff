package interlock.examples.earthquakes;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.JsonNode;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What the processors read of a report. What they return is the whole document. */
record Report(String id, Geometry geometry, Properties properties) {

    private static final BigDecimal SHALLOW = BigDecimal.valueOf(70);
    private static final BigDecimal INTERMEDIATE = BigDecimal.valueOf(300);
    private static final BigDecimal STRONG = BigDecimal.valueOf(5);

    record Geometry(List<BigDecimal> coordinates) {}

    record Properties(
            @JsonProperty("mag") BigDecimal magnitude, @Nullable JsonNode place, int tsunami, @Nullable String alert) {}

    /** Names a depth as seismologists do. */
    static String depthClass(BigDecimal km) {
        if (km.compareTo(SHALLOW) < 0) {
            return "shallow";
        }
        return km.compareTo(INTERMEDIATE) < 0 ? "intermediate" : "deep";
    }

    /** Why a report is worth an alert, as the criteria of {@code raise_alert} say. */
    List<String> reasons() {
        List<String> reasons = new ArrayList<>();
        if (properties.tsunami == 1) {
            reasons.add("tsunami warning");
        }
        if (properties.alert != null) {
            reasons.add("alert level " + properties.alert);
        }
        if (properties.magnitude.compareTo(STRONG) >= 0) {
            reasons.add("magnitude " + properties.magnitude);
        }
        return reasons;
    }
}
