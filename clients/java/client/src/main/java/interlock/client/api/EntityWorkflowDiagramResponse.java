// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The workflows of a model as a diagram.
 *
 * @param id The id of the request's event.
 * @param text The picture, in that language.
 * @param warnings What the caller should know, although the request was answered.
 */
public record EntityWorkflowDiagramResponse(
        DiagramFormat format,
        String id,
        ModelKey model,
        String text,
        @Nullable List<String> warnings) {}
