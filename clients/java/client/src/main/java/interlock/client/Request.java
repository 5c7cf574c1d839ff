package interlock.client;

/** The payload of a request. It has no id; the client adds it. */
public interface Request {

    /** The type of its event. */
    String eventType();
}
