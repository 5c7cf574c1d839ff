package interlock.client;

/** What a workflow may call. */
enum Kind {
    PROCESSOR("processor", "EntityProcessorCalculation"),
    CRITERION("criterion", "EntityCriteriaCalculation"),
    SCHEDULE("schedule", "EntityFunctionCalculation"),
    ACTION("action", "TaskCalculation");

    private final String name;
    private final String events;

    Kind(String name, String events) {
        this.name = name;
        this.events = events;
    }

    String requestType() {
        return events + "Request";
    }

    String responseType() {
        return events + "Response";
    }

    @Override
    public String toString() {
        return name;
    }
}
