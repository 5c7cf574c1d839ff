/** Endless answers, by the subscriptions of the client that resume by themselves. */
import type { Api, Change, Condition, JsonNumber, ModelSpec } from "interlock-client";

/** What a request for an endless answer asks for; its numbers keep their digits. */
interface Wanted {
  model?: { name: string; version: JsonNumber };
  condition?: Condition;
  states?: string[];
  fromSequence?: JsonNumber;
  includeData?: boolean;
  runId?: string;
}

/** The items of an endless answer, in the form that the runner compares. */
export async function* items(
  api: Api,
  type: string,
  payload: object,
  signal: AbortSignal,
): AsyncGenerator<object, void, undefined> {
  const wanted = payload as Wanted;
  const { includeData = false } = wanted;
  const fromSequence = wanted.fromSequence?.toNumber();
  const options = { includeData, signal, ...(fromSequence !== undefined && { fromSequence }) };
  const model: ModelSpec | undefined = wanted.model && {
    name: wanted.model.name,
    version: wanted.model.version.toNumber(),
  };
  switch (type) {
    case "EntityChangesSubscribeRequest": {
      const { states } = wanted;
      const which = { ...(model && { model }), ...(states && { states }) };
      for await (const change of api.entity.changes({ ...options, ...which })) {
        yield changeOf(change);
      }
      return;
    }
    case "EntitySearchSubscribeRequest": {
      if (model === undefined || wanted.condition === undefined) throw new Error("what to search?");
      for await (const item of api.entity.liveSearch(model, wanted.condition, options)) {
        if (item.kind === "entity") {
          const { id: entityId, state, data } = item.entity;
          yield { change: "matches", entityId, state, data };
        } else if (item.kind === "complete") {
          yield { change: item.kind, sequence: item.sequence };
        } else {
          yield { change: item.kind, ...changeOf(item.change) };
        }
      }
      return;
    }
    case "RunHistorySubscribeRequest": {
      const { runId } = wanted;
      for await (const event of api.run.follow({ ...options, ...(runId && { runId }) })) {
        yield { sequence: event.sequence, eventType: event.eventType };
      }
      return;
    }
    default:
      throw new Error(`${type} is not followed`);
  }
}

function changeOf({ sequence, entityId, changeType, state, data }: Change): object {
  return { sequence, entityId, changeType, state, data };
}
