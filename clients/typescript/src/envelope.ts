/** CloudEvents: how a payload is put into an envelope, and what is read from one. */
import { randomUUID } from "node:crypto";
import { errorOf, errorOfAnswer } from "./errors.js";
import { CloudEvent } from "./generated/io/cloudevents/v1/cloudevents.js";
import { encode, hasLoneSurrogate, madePlain, read } from "./json.js";
import { typed } from "./shape.js";

export { CloudEvent };

/** Extension attributes. */
export const ATTRIBUTE = {
  /** On an answer: the envelope id of its request. */
  requestId: "requestid",
  /** On all events of a streamed answer but the last. */
  sequence: "sequence",
  /** The open transaction that a request joins, or that a calculation belongs to. */
  token: "cyodatxtoken",
  /** On a calculation: after how many milliseconds the server gives it up. */
  timeLimit: "timeoutms",
  /** The idempotency key of a request. */
  idempotencyKey: "idempotencykey",
  /** The trace that a request or a calculation belongs to. */
  traceparent: "traceparent",
} as const;

/** Types of the stream itself. */
export const TYPE = {
  acknowledgement: "EventAckResponse",
  cancel: "EventCancelRequest",
  drain: "WorkerDrainRequest",
  greeting: "CalculationMemberGreetEvent",
  join: "CalculationMemberJoinEvent",
  keepAlive: "CalculationMemberKeepAliveEvent",
  streamEnd: "EventStreamEnd",
  task: "TaskCalculationRequest",
  taskAnswer: "TaskCalculationResponse",
  taskCancel: "TaskCancelEvent",
} as const;

/** Puts a payload into an envelope, both with the same new id. */
export function envelop(
  type: string,
  payload: object,
  attributes: Readonly<Record<string, string | undefined>> = {},
): CloudEvent {
  const id = randomUUID();
  const event: CloudEvent = {
    id,
    source: "interlock-typescript",
    specVersion: "1.0",
    type,
    attributes: {},
    data: { $case: "textData", value: encode({ id, ...payload }) },
  };
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) event.attributes[name] = { attr: { $case: "ceString", value } };
  }
  return event;
}

/** An extension attribute that is a text; undefined if it is absent or empty. */
export function attribute(event: CloudEvent, name: string): string | undefined {
  const attr = event.attributes[name]?.attr;
  return attr?.$case === "ceString" && attr.value !== "" ? attr.value : undefined;
}

/**
 * The payload of an event, with its declared types.
 * @throws InvalidRequestError if it is not a JSON object.
 */
export function payloadOf(event: CloudEvent): Record<string, unknown> {
  return typed(objectOf(event), event.type) as Record<string, unknown>;
}

/**
 * The payload of an answer.
 * @throws InterlockError if the answer is that the request failed.
 */
export function answerOf(event: CloudEvent): Record<string, unknown> {
  const payload = objectOf(event) as Record<string, unknown>;
  if (payload.success === false) {
    throw errorOfAnswer(madePlain(payload.error), payload.warnings);
  }
  return typed(payload, event.type) as Record<string, unknown>;
}

function objectOf(event: CloudEvent): object {
  let value: unknown;
  try {
    value = read(textOf(event));
  } catch (cause) {
    throw errorOf(`the data of a ${event.type} is not JSON`, { code: "BAD_REQUEST", cause });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw errorOf(`the data of a ${event.type} is not an object`, { code: "BAD_REQUEST" });
  }
  return value;
}

/** The data of an event, as it came. */
export function textOf(event: CloudEvent): string {
  switch (event.data?.$case) {
    case "textData":
      return event.data.value;
    case "binaryData":
      return Buffer.from(event.data.value).toString("utf8");
    default:
      return "";
  }
}

/** @throws RangeError if a text in an event cannot be sent. */
export function checkTexts(event: CloudEvent): void {
  if (hasLoneSurrogate(textOf(event))) {
    throw new RangeError("a text in it has half of a surrogate pair, which is no character");
  }
}

/** About how many bytes an event has: its data is nearly all of it, and its attributes vary. */
export function sizeOf(event: CloudEvent): number {
  return event.data?.$case === "textData" ? Buffer.byteLength(event.data.value) + 256 : 256;
}

export function serialize(event: CloudEvent): Buffer {
  const bytes = CloudEvent.encode(event).finish();
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

export function deserialize(bytes: Buffer): CloudEvent {
  return CloudEvent.decode(bytes);
}
