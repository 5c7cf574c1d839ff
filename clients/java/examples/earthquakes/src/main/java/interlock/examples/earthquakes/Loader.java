package interlock.examples.earthquakes;

import com.fasterxml.jackson.databind.JsonNode;
import interlock.client.Answers;
import interlock.client.Entity;
import interlock.client.InterlockException;
import interlock.client.Json;
import interlock.client.Session;
import interlock.client.api.Condition;
import interlock.client.api.EntityModelGetAllRequest;
import interlock.client.api.EntitySearchRequest;
import interlock.client.api.EntityStatsByStateGetRequest;
import interlock.client.api.EntityStatsByStateResponse;
import interlock.client.api.EntityWorkflowExportRequest;
import interlock.client.api.ErrorCodes;
import interlock.client.api.Model;
import interlock.client.api.ModelSpec;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/** Loads the reports of a folder and prints what became of them. */
final class Loader {

    /** Automatic reports from that magnitude on are confirmed; the others continue to wait. */
    private static final int REVIEW_FROM = 3;

    private final Session session;
    private final Path files;
    private final PrintStream out;

    Loader(Session session, Path files, PrintStream out) {
        this.session = session;
        this.files = files;
        this.out = out;
    }

    /** Does everything that has not been done yet. */
    void load() throws IOException {
        prepare(Processors.ALERTS);
        prepare(Processors.REPORTS);
        addMissing();
        confirm();
        show(Processors.REPORTS);
        show(Processors.ALERTS);
    }

    /** Imports and locks a model, and imports its workflow, where that has not been done. */
    private void prepare(ModelSpec spec) throws IOException {
        List<Model> models = session.operations().entityModelGetAll(new EntityModelGetAllRequest()).models();
        Optional<Model> known = (models == null ? List.<Model>of() : models).stream()
                .filter(one -> one.name().equals(spec.name()) && one.version() == spec.version()).findFirst();
        if (known.isEmpty()) {
            session.models().importSample(spec, read("models/" + spec.name()));
            out.println("model " + spec.name() + " imported");
        }
        if (known.filter(one -> one.state().equals(Model.ModelState.LOCKED)).isEmpty()) {
            session.models().lock(spec);
        }
        try {
            session.operations().entityWorkflowExport(EntityWorkflowExportRequest.builder().model(spec).build());
        } catch (InterlockException e) {
            if (!e.code().equals(ErrorCodes.WORKFLOW_NOT_FOUND)) {
                throw e;
            }
            session.models().importWorkflows(spec, read("workflows/" + spec.name()));
            out.println("workflow of " + spec.name() + " imported");
        }
    }

    /** Creates the reports that are not there yet, side by side. */
    private void addMissing() throws IOException {
        JsonNode features = read("data/earthquakes").node().path("features");
        Set<String> there = new HashSet<>();
        try (Answers<Entity> entities = session.entities().list(Processors.REPORTS)) {
            entities.forEach(entity -> there.add(entity.document().path("id").asText()));
        }
        out.printf("%d reports in the file, %d of them are there already%n", features.size(), there.size());
        List<CompletableFuture<?>> added = new ArrayList<>();
        for (JsonNode feature : features) {
            if (!there.contains(feature.path("id").asText())) {
                added.add(session.entities().createAsync(Processors.REPORTS, feature));
            }
        }
        await(added);
        out.printf("%d reports added%n", added.size());
    }

    /** Confirms the automatic reports that are worth a review. */
    private void confirm() {
        Condition waits = Condition.builder().type(Condition.Type.LIFECYCLE).field(Condition.Field.STATE)
                .operatorType(Condition.OperatorType.EQUALS).value(Json.of("AWAITING_REVIEW")).build();
        Condition isStrong = Condition.builder().type(Condition.Type.SIMPLE).jsonPath("$.properties.mag")
                .operatorType(Condition.OperatorType.GREATER_OR_EQUAL).value(Json.of(REVIEW_FROM)).build();
        Condition both = Condition.builder().type(Condition.Type.GROUP).operator(Condition.Operator.AND)
                .conditions(List.of(waits, isStrong)).build();
        List<CompletableFuture<?>> confirmed = new ArrayList<>();
        try (Answers<Entity> found = session.entities().search(
                EntitySearchRequest.builder().model(Processors.REPORTS).condition(both).limit(10_000).build())) {
            found.forEach(entity -> confirmed.add(session.entities().transitionAsync(entity.id(), "confirm")));
        }
        await(confirmed);
        out.printf("%d automatic reports from magnitude %d on confirmed%n", confirmed.size(), REVIEW_FROM);
    }

    private static void await(List<CompletableFuture<?>> all) {
        try {
            CompletableFuture.allOf(all.toArray(CompletableFuture<?>[]::new)).join();
        } catch (CompletionException e) {
            throw e.getCause() instanceof InterlockException failure ? failure : e;
        }
    }

    /** Prints how many entities are in which state. */
    private void show(ModelSpec model) {
        List<EntityStatsByStateResponse> counts;
        try (Answers<EntityStatsByStateResponse> answer = session.operations().entityStatsByStateGet(
                EntityStatsByStateGetRequest.builder().model(model).build())) {
            counts = answer.stream().sorted(Comparator.comparing(EntityStatsByStateResponse::count).reversed()).toList();
        }
        out.printf("%n%-20s entities%n", model.name());
        counts.forEach(count -> out.printf("  %-18s %8d%n", count.state(), count.count()));
        out.printf("  %-18s %8d%n", "together", counts.stream().mapToLong(EntityStatsByStateResponse::count).sum());
    }

    /** Reads one of the JSON files of the example. */
    private Json read(String name) throws IOException {
        return Json.parse(Files.readString(files.resolve(name + ".json")));
    }
}
