/** Entities: documents of a model, in a state of its workflow. */
import { InterlockError } from "./errors.js";
import type { Operations } from "./generated/operations.js";
import type {
  Condition,
  EntityChangeEvent,
  EntityMeta,
  EntityResponse,
  EntitySearchRequest,
  EntityStatsByStateResponse,
  EntityTransactionResponse,
  ModelSpec,
  OrderBy,
} from "./generated/payloads.js";
import { encode, type JsonInput, type JsonObject, type WritableObject } from "./json.js";
import type { RequestOptions } from "./requester.js";
import { newest, resumed, wasCut } from "./resume.js";

/** How often a search is sent without an entity in return. */
const SEARCH_ATTEMPTS = 3;

/** An entity. `T` is the type of its document, in which numbers are `JsonNumber`. */
export class Entity<T = JsonObject> {
  readonly id: string;
  readonly state: string;
  readonly model: ModelSpec;

  constructor(
    /** The document. */
    readonly data: T,
    /** What is known about it: its times, and the transaction that wrote it. */
    readonly meta: Partial<EntityMeta> & Pick<EntityMeta, "id" | "state" | "modelKey">,
  ) {
    this.id = meta.id;
    this.state = meta.state;
    this.model = meta.modelKey;
  }

  /** The document with plain numbers: digits that a `number` does not have are lost. */
  plain<P>(): P {
    return JSON.parse(encode(this.data)) as P;
  }
}

/** What a write did. */
export interface Written {
  entityIds: string[];
  /** Undefined if nothing was written. */
  transactionId: string | undefined;
  warnings: readonly string[];
}

/** What the write of one entity did. */
export interface WrittenEntity extends Written {
  entityId: string;
}

/** A document, or any object that can be written as one; so no promise, `Map` or `Set`. */
export type Document = JsonInput | WritableObject;

/** What to update. */
export interface Update {
  entityId: string;
  data: Document;
  /** The transition to take; by default the entity stays in its state and its criteria are tried. */
  transition?: string;
  /** The transaction that must have written the entity last. */
  ifMatch?: string;
}

/** What changes to follow. */
export interface ChangesOptions {
  model?: ModelSpec;
  /** Only changes that leave an entity in one of these states. */
  states?: string[];
  /** The last sequence that was received; 0 for all changes; by default, changes from now on. */
  fromSequence?: number;
  includeData?: boolean;
  signal?: AbortSignal;
}

/** A change of an entity. */
export type Change = EntityChangeEvent &
  Required<Pick<EntityChangeEvent, "sequence" | "entityId" | "changeType" | "state" | "model">>;

/** What a live search yields: entities that match, `complete` once, then changes of the result. */
export type LiveSearchItem<T = JsonObject> =
  | { kind: "entity"; entity: Entity<T> }
  | { kind: "complete"; sequence: number }
  | { kind: "entered" | "changed" | "left"; sequence: number; change: Change };

/** Reads and writes entities. */
export class Entities {
  constructor(private readonly operations: Operations) {}

  /** Creates an entity of a locked model. */
  async create(model: ModelSpec, data: Document, options?: RequestOptions): Promise<WrittenEntity> {
    const payload = { model, data: data as JsonInput };
    const request = { dataFormat: "JSON", payload } as const;
    return one(await this.operations.entityCreate(request, options));
  }

  /** Creates entities in one transaction, or in one for each `chunkSize` of them. */
  async createAll(
    model: ModelSpec,
    documents: readonly Document[],
    options: RequestOptions & { chunkSize?: number } = {},
  ): Promise<Written> {
    const payloads = documents.map((data) => ({ model, data: data as JsonInput }));
    const { chunkSize = null } = options;
    const request = { dataFormat: "JSON", payloads, chunkSize } as const;
    return written(await this.operations.entityCreateCollection(request, options));
  }

  /** Replaces the document of an entity, and takes a transition. */
  async update(update: Update, options?: RequestOptions): Promise<WrittenEntity> {
    const payload = { ...update, data: update.data as JsonInput };
    return one(await this.operations.entityUpdate({ dataFormat: "JSON", payload }, options));
  }

  /** Applies a merge patch (RFC 7396), by default whatever the version of the entity is. */
  async patch(
    entityId: string,
    patch: Document,
    options: RequestOptions & { transition?: string; ifMatch?: string } = {},
  ): Promise<WrittenEntity> {
    const { transition, ifMatch = "*" } = options;
    const payload = {
      entityId,
      patch: patch as JsonInput,
      ifMatch,
      ...(transition && { transition }),
    };
    const request = { patchFormat: "MERGE_PATCH", payload } as const;
    return one(await this.operations.entityPatch(request, options));
  }

  /**
   * Takes a transition; the names of those that are open after it. With `ifMatch` only if that
   * transaction wrote the last version of the entity.
   */
  async transition(
    entityId: string,
    transition: string,
    options: RequestOptions & { ifMatch?: string } = {},
  ): Promise<string[]> {
    const { ifMatch } = options;
    const request = { entityId, transition, ...(ifMatch && { ifMatch }) };
    return (await this.operations.entityTransition(request, options)).availableTransitions;
  }

  /**
   * Deletes an entity; the id of the transaction. With `ifMatch` only if that transaction wrote
   * its last version.
   */
  async delete(
    entityId: string,
    options: RequestOptions & { ifMatch?: string } = {},
  ): Promise<string> {
    const { ifMatch } = options;
    const request = { entityId, ...(ifMatch && { ifMatch }) };
    return (await this.operations.entityDelete(request, options)).transactionId;
  }

  /** Reads an entity, as it is now or as it was. */
  async get<T = JsonObject>(
    entityId: string,
    options: RequestOptions & { pointInTime?: Date; transactionId?: string } = {},
  ): Promise<Entity<T>> {
    const { pointInTime, transactionId } = options;
    const request = {
      entityId,
      ...(pointInTime && { pointInTime: pointInTime.toISOString() }),
      ...(transactionId && { transactionId }),
    };
    return entityOf<T>(await this.operations.entityGet(request, options));
  }

  /**
   * Reads all entities of a model, page by page, in the order of their ids. One that is there all
   * the time is yielded once, whatever is written or deleted meanwhile.
   */
  async *list<T = JsonObject>(
    model: ModelSpec,
    options: RequestOptions & { pageSize?: number } = {},
  ): AsyncGenerator<Entity<T>, void, undefined> {
    const pageSize = options.pageSize ?? 1000;
    for (let last = "", came = pageSize; came === pageSize; ) {
      came = 0;
      const request = after(last, model, pageSize);
      for await (const answer of this.operations.entitySearch(request, options)) {
        const entity = entityOf<T>(answer);
        last = entity.id;
        came += 1;
        yield entity;
      }
    }
  }

  /**
   * Reads the entities that match a condition; more than 1000 only with a `limit`. If the connection
   * is lost, the search is sent again, and each entity is yielded once: with `pointInTime` at any
   * moment, and without it as long as nothing has been yielded. Outside of a transaction it is a
   * separate call, so that it may be read slowly, and the loop over it may send requests.
   */
  async *search<T = JsonObject>(
    model: ModelSpec,
    condition: Condition,
    options: RequestOptions & { limit?: number; orderBy?: OrderBy[]; pointInTime?: Date } = {},
  ): AsyncGenerator<Entity<T>, void, undefined> {
    const { limit, orderBy, pointInTime } = options;
    const request = {
      model,
      condition,
      ...(limit !== undefined && { limit }),
      ...(orderBy && { orderBy }),
      ...(pointInTime && { pointInTime: pointInTime.toISOString() }),
    };
    const seen = new Set<string>();
    for (let attempts = 1; ; attempts += 1) {
      try {
        for await (const answer of this.operations.entitySearch(request, options)) {
          const entity = entityOf<T>(answer);
          if (seen.has(entity.id)) continue;
          seen.add(entity.id);
          attempts = 0;
          yield entity;
        }
        return;
      } catch (error) {
        // Without a time, what is found again may be another result.
        const isAnother = seen.size > 0 && pointInTime === undefined;
        if (isAnother || attempts === SEARCH_ATTEMPTS || !wasCut(error)) throw error;
      }
    }
  }

  /** Counts the entities of a model by their states. */
  async countByState(
    model: ModelSpec,
    options?: RequestOptions,
  ): Promise<Pick<EntityStatsByStateResponse, "state" | "count">[]> {
    const counts: Pick<EntityStatsByStateResponse, "state" | "count">[] = [];
    for await (const { state, count } of this.operations.entityStatsByStateGet(
      { model },
      options,
    )) {
      counts.push({ state, count });
    }
    return counts;
  }

  /**
   * Follows changes in the order of their commits. It never ends: after a lost connection it
   * resumes after the last change that was yielded, so that none is missing and none is repeated.
   */
  async *changes(options: ChangesOptions = {}): AsyncGenerator<Change, void, undefined> {
    const { model, states, includeData = false, signal } = options;
    const wanted = { ...(model && { model }), ...(states && { states }), includeData };
    const own = signal === undefined ? {} : { signal };
    const last = await newest((fromSequence) =>
      this.operations.listen("EntityChangesSubscribeRequest" as string, { fromSequence }, own),
    );
    let reached = options.fromSequence ?? last;
    const open = (): AsyncGenerator<EntityChangeEvent, void, undefined> =>
      this.operations.entityChangesSubscribe({ ...wanted, fromSequence: reached }, own);
    for await (const event of resumed({ open, canResume: () => true, signal })) {
      const change = event as Change;
      reached = change.sequence;
      yield change;
    }
  }

  /**
   * Follows what satisfies a condition: the entities that do, `complete`, then every change that
   * makes one enter, changes one within, or makes one leave. It never ends: after `complete` it
   * resumes by itself. With `fromSequence`, only the changes after it.
   */
  async *liveSearch<T = JsonObject>(
    model: ModelSpec,
    condition: Condition,
    options: { fromSequence?: number; includeData?: boolean; signal?: AbortSignal } = {},
  ): AsyncGenerator<LiveSearchItem<T>, void, undefined> {
    const { includeData = false, signal } = options;
    let reached = options.fromSequence;
    let begun = false;
    const open = (): AsyncGenerator<EntityResponse | EntityChangeEvent, void, undefined> => {
      const after = reached === undefined ? {} : { fromSequence: reached };
      const request = { model, condition, includeData, ...after };
      return this.operations.entitySearchSubscribe(request, signal === undefined ? {} : { signal });
    };
    const canResume = (): boolean => begun && reached !== undefined;
    for await (const event of resumed({ open, canResume, signal })) {
      begun = true;
      const item = liveItem<T>(event);
      if (item.kind !== "entity") reached = item.sequence;
      yield item;
    }
  }
}

/**
 * Asks for the entities whose ids come after one. Pages that were found by their number would move
 * when an entity of an earlier one is deleted.
 */
function after(last: string, model: ModelSpec, limit: number): EntitySearchRequest {
  const condition: Condition = {
    type: "lifecycle",
    field: "id",
    operatorType: "GREATER_THAN",
    value: last,
  };
  // In a transaction, it has seen what it lists.
  return { model, condition, limit, limitExceeded: "TRUNCATE", trackingRead: true };
}

function liveItem<T>(event: EntityResponse | EntityChangeEvent): LiveSearchItem<T> {
  if ("payload" in event) return { kind: "entity", entity: entityOf<T>(event) };
  const { change: kind = "changed", sequence = 0 } = event;
  if (kind === "complete") return { kind, sequence };
  return { kind, sequence, change: event as Change };
}

/** The entity of an answer. */
function entityOf<T>(answer: EntityResponse): Entity<T> {
  const { data, meta } = answer.payload;
  if (meta === undefined) {
    throw new InterlockError("the answer has no entity", { code: "SERVER_ERROR" });
  }
  return new Entity(data as T, meta);
}

function written(answer: EntityTransactionResponse): Written {
  const { entityIds, transactionId } = answer.transactionInfo;
  return { entityIds, transactionId, warnings: answer.warnings ?? [] };
}

function one(answer: EntityTransactionResponse): WrittenEntity {
  const all = written(answer);
  return { ...all, entityId: all.entityIds[0] ?? "" };
}
