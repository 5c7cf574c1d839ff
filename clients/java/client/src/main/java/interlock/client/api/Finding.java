// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import org.jspecify.annotations.Nullable;

/**
 * One statement about a document.
 *
 * @param code Such as <code>E201</code>.
 * @param location A dotted path, such as <code>steps.charge.run</code>.
 * @param severity <code>error</code> or <code>warning</code>. An error refuses the document.
 */
public record Finding(
        String code,
        @Nullable String location,
        String message,
        String severity) {}
