package interlock.client;

/**
 * An event of a streamed answer.
 *
 * @param type its type
 * @param data its payload
 */
public record Event(String type, Json data) {}
