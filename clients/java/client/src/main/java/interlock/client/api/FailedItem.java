// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

/** An item that was left out of a transaction. */
public record FailedItem(
        String entityId,
        FailedItemError error) {

    /**
     * @param code An error code.
     * @param itemIndex The place of the item in its transaction, from 0.
     */
    public record FailedItemError(
            String code,
            long itemIndex,
            String message) {}
}
