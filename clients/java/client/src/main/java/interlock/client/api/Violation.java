// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A place of a document that does not fit the model.
 *
 * @param expected The types that the model has there.
 * @param found The type that the document has there.
 */
public record Violation(
        List<String> expected,
        @Nullable String found,
        String message,
        String path) {}
