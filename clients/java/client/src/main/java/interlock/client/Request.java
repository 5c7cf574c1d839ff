package interlock.client;

import com.fasterxml.jackson.annotation.JsonAutoDetect;

/** The payload of a request. It has no id; the client adds it. */
@JsonAutoDetect // some have no members, and a class without members is written only with an annotation
public interface Request {

    /** The type of its event. */
    String eventType();
}
