// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

/** Which of how many entities are on a page. */
public record Page(
        long number,
        long size,
        long totalElements,
        long totalPages) {}
