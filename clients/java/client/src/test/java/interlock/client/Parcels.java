package interlock.client;

import interlock.client.api.Condition;
import interlock.client.api.ModelSpec;
import java.util.List;
import java.util.Map;

/** The model that the tests use, and its workflows. */
final class Parcels {

    static final ModelSpec PARCEL = new ModelSpec("parcel", 1);

    /** A condition that all satisfy. */
    static final Condition EVERYTHING =
            Condition.builder().type(Condition.Type.GROUP).operator(Condition.Operator.AND).conditions(List.of()).build();

    private Parcels() {}

    /** Makes the model, and its workflow if there is one. */
    static void prepare(Session session, String... workflow) {
        session.models().importSample(PARCEL, Map.of("sku", "A-1", "weight", 1.5, "price", 1.5, "note", "none"));
        session.models().lock(PARCEL);
        for (String one : workflow) {
            session.models().importWorkflows(PARCEL, Json.parse(one));
        }
    }

    /** A workflow whose first transition, NEW to DONE, is as given. */
    static String flow(String transition) {
        return """
                {"version": "1", "name": "parcels", "initialState": "NEW", "states": {
                  "NEW": {"transitions": [{"name": "process", "next": "DONE", %s}]}, "DONE": {}}}
                """.formatted(transition);
    }

    static String processor(String name, String... more) {
        String config = "\"calculationNodesTags\": \"java\"" + (more.length == 0 ? "" : ", " + String.join(", ", more));
        return flow("""
                "manual": false, "processors": [{"name": "%s", "type": "externalized", "executionMode": "SYNC",
                  "config": {%s}}]
                """.formatted(name, config));
    }

    static String criterion(String name) {
        return flow("""
                "manual": false, "criterion": {"type": "function", "function": {"name": "%s",
                  "config": {"calculationNodesTags": "java"}}}
                """.formatted(name));
    }

    /** Creates a parcel and reads it. */
    static Entity created(Session session) {
        return session.entities().get(session.entities().create(PARCEL, Json.parse("{\"sku\":\"A-1\",\"weight\":1.50}")).entityId());
    }
}
