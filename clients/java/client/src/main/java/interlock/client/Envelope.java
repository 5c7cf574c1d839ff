package interlock.client;

import interlock.client.cloudevents.CloudEvent;
import interlock.client.cloudevents.CloudEvent.CloudEventAttributeValue;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Puts payloads into events, and takes them out. */
final class Envelope {

    // Extension attributes.
    /** On an answer: the id of its request. */
    static final String REQUEST_ID = "requestid";
    /** On all events of a streamed answer but the last. */
    static final String SEQUENCE = "sequence";
    /** The open transaction. */
    static final String TOKEN = "cyodatxtoken";
    /** The idempotency key of a request. */
    static final String KEY = "idempotencykey";
    /** The same for every attempt of one call. */
    static final String DISPATCH_KEY = "dispatchkey";
    /** After how many milliseconds the server gives a call up. */
    static final String TIME_LIMIT = "timeoutms";

    // Types of the events of the stream itself.
    static final String ACKNOWLEDGEMENT = "EventAckResponse";
    static final String CANCEL = "EventCancelRequest";
    static final String GREETING = "CalculationMemberGreetEvent";
    static final String JOIN = "CalculationMemberJoinEvent";
    static final String KEEP_ALIVE = "CalculationMemberKeepAliveEvent";
    static final String STREAM_END = "EventStreamEnd";
    static final String TASK = "TaskCalculationRequest";
    static final String TASK_RESPONSE = "TaskCalculationResponse";
    static final String TASK_CANCEL = "TaskCancelEvent";
    static final String DRAIN = "WorkerDrainRequest";

    private static final String SOURCE = "interlock-java";

    private Envelope() {}

    /** Puts a payload into an envelope; both have the same new id. */
    static CloudEvent.Builder of(String type, Object payload) {
        String text = JsonText.write(payload).strip();
        if (text.length() < 2 || text.charAt(0) != '{') {
            throw new IllegalArgumentException("the payload of a " + type + " has to be a JSON object");
        }
        String id = UUID.randomUUID().toString();
        String rest = text.substring(1);
        boolean isEmpty = rest.stripLeading().startsWith("}");
        String data = "{\"id\":\"" + id + (isEmpty ? "\"" : "\",") + rest;
        CloudEvent.Builder event = CloudEvent.newBuilder()
                .setId(id).setSource(SOURCE).setSpecVersion("1.0").setType(type).setTextData(data);
        Tracing.INSTANCE.inject((name, value) -> set(event, name, value));
        return event;
    }

    static void set(CloudEvent.Builder event, String name, String value) {
        Texts.checkWhole(value, "the attribute " + name);
        event.putAttributes(name, CloudEventAttributeValue.newBuilder().setCeString(value).build());
    }

    /** The attribute of that name, if it is a text. */
    static @Nullable String attribute(CloudEvent event, String name) {
        Map<String, CloudEventAttributeValue> attributes = event.getAttributesMap();
        CloudEventAttributeValue value = attributes.get(name);
        return value == null || value.getCeString().isEmpty() ? null : value.getCeString();
    }

    static String data(CloudEvent event) {
        return event.hasTextData() ? event.getTextData() : event.getBinaryData().toStringUtf8();
    }

    /** Refuses an event for which the server would end the whole stream or call. */
    static void checkSize(CloudEvent event, int bytesMax) {
        int size = event.getSerializedSize();
        if (size > bytesMax) {
            throw new Failure(ClientCodes.MESSAGE_TOO_LARGE,
                    "the " + event.getType() + " has " + size + " bytes; " + bytesMax + " are allowed", false).exception();
        }
    }

    static int size(CloudEvent event) {
        return event.hasTextData() ? event.getTextDataBytes().size() : event.getBinaryData().size();
    }
}
