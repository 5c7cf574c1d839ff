package interlock.client;

import interlock.client.api.DataFormat;
import interlock.client.api.EntityModelTransitionRequest;
import interlock.client.api.LockChange;
import interlock.client.api.ModelSpec;
import interlock.client.api.Operations;
import java.util.List;
import java.util.Map;

/** Short forms of the operations that prepare a model. */
public final class Models {

    private final Requester requester;
    private final Operations operations;

    Models(Requester requester, Operations operations) {
        this.requester = requester;
        this.operations = operations;
    }

    /** Makes a model from a sample document. */
    public void importSample(ModelSpec model, Object sample) {
        requester.ask("EntityModelImportRequest", Map.of("model", model, "dataFormat", DataFormat.JSON,
                "converter", "SAMPLE_DATA", "payload", JsonText.object(sample, "a sample")));
    }

    /** Makes a model ready for entities. */
    public void lock(ModelSpec model) {
        operations.entityModelTransition(new EntityModelTransitionRequest(model, LockChange.LOCK));
    }

    /**
     * Replaces the workflows of a model. Each is whatever Jackson writes as a workflow, such as the
     * {@link Json} of a file or an {@link interlock.client.api.Workflow}.
     */
    public void importWorkflows(ModelSpec model, Object... workflows) {
        requester.ask("EntityWorkflowImportRequest",
                Map.of("model", model, "importMode", "REPLACE", "workflows", List.of(workflows)));
    }
}
