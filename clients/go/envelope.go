package interlock

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/propagation"
	"google.golang.org/protobuf/proto"

	"interlock.internal/interlock/api/cloudevents"
)

// Extension attributes.
const (
	attributeRequestID   = "requestid"      // on an answer: the id of its request
	attributeSequence    = "sequence"       // on all events of a streamed answer but the last
	attributeToken       = "cyodatxtoken"   // the open transaction
	attributeKey         = "idempotencykey" // the idempotency key of a request
	attributeDispatchKey = "dispatchkey"    // the same for every attempt of one call
	attributeTimeLimit   = "timeoutms"      // after how many milliseconds the server gives a call up
	source               = "interlock-go"   // of all events
	specVersion          = "1.0"            // of CloudEvents
)

// Types of events of the stream itself.
const (
	typeAcknowledgement = "EventAckResponse"
	typeCancel          = "EventCancelRequest"
	typeGreeting        = "CalculationMemberGreetEvent"
	typeJoin            = "CalculationMemberJoinEvent"
	typeKeepAlive       = "CalculationMemberKeepAliveEvent"
	typeStreamEnd       = "EventStreamEnd"
)

type event = cloudevents.CloudEvent

// newEvent puts a payload into an envelope; both have the same new id.
func newEvent(ctx context.Context, eventType string, payload any) (*event, error) {
	text, err := encode(payload)
	if err != nil {
		return nil, fmt.Errorf("interlock: cannot encode the %s: %w", eventType, err)
	}
	if len(text) < 2 || text[0] != '{' {
		return nil, fmt.Errorf("interlock: the payload of a %s has to be a JSON object", eventType)
	}
	// Raw JSON is passed on as it is, and gRPC ends the whole stream for a text that is not UTF-8.
	if !utf8.Valid(text) {
		return nil, fmt.Errorf("interlock: cannot encode the %s: its JSON is not UTF-8", eventType)
	}
	id := uuid.NewString()
	data := make([]byte, 0, len(text)+len(id)+len(`{"id":"",`))
	data = append(append(append(data, `{"id":"`...), id...), '"')
	if text[1] != '}' {
		data = append(data, ',')
	}
	data = append(data, text[1:]...)
	made := &event{
		Id: id, Source: source, SpecVersion: specVersion, Type: eventType,
		Data: &cloudevents.CloudEvent_TextData{TextData: string(data)},
	}
	traceContext.Inject(ctx, carrier{made})
	return made, nil
}

// encode writes compact JSON. Raw JSON and json.Number keep their digits.
func encode(value any) ([]byte, error) {
	if value == nil {
		return []byte("{}"), nil
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimRight(text.Bytes(), "\n"), nil
}

// decodeExactly reads JSON; numbers in values of the type any become json.Number.
func decodeExactly(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode(into)
}

func dataOf(e *event) []byte {
	if text := e.GetTextData(); text != "" {
		return []byte(text)
	}
	return e.GetBinaryData()
}

// checkSize refuses an event for which the server would end the whole stream or call.
func checkSize(e *event, sizeMax int) error {
	if size := proto.Size(e); size > sizeMax {
		return &Error{
			Code:    CodeMessageTooLarge,
			Message: fmt.Sprintf("the %s has %d bytes; %d are allowed", e.Type, size, sizeMax),
		}
	}
	return nil
}

func sizeOf(e *event) int { return len(e.GetTextData()) + len(e.GetBinaryData()) }

func attribute(e *event, name string) string { return e.GetAttributes()[name].GetCeString() }

func setAttribute(e *event, name, value string) {
	if e.Attributes == nil {
		e.Attributes = map[string]*cloudevents.CloudEvent_CloudEventAttributeValue{}
	}
	e.Attributes[name] = &cloudevents.CloudEvent_CloudEventAttributeValue{
		Attr: &cloudevents.CloudEvent_CloudEventAttributeValue_CeString{CeString: value},
	}
}

// traceContext continues traces by the attributes traceparent and tracestate.
var traceContext = propagation.TraceContext{}

// carrier gives the propagator the attributes of an event.
type carrier struct{ event *event }

func (c carrier) Get(key string) string { return attribute(c.event, key) }

func (c carrier) Set(key, value string) { setAttribute(c.event, key, value) }

func (c carrier) Keys() []string {
	keys := make([]string, 0, len(c.event.GetAttributes()))
	for key := range c.event.GetAttributes() {
		keys = append(keys, key)
	}
	return keys
}
