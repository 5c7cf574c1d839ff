// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;

/**
 * A state machine.
 *
 * @param states In the order of its block.
 */
public record Machine(
        String bundle,
        String initial,
        String machine,
        List<String> states) {}
