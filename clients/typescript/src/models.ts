/** Models: the schemas of entities, and their workflows. */
import { InterlockError } from "./errors.js";
import type { Operations } from "./generated/operations.js";
import type { Model, ModelSpec, Workflow } from "./generated/payloads.js";
import type { Json, JsonInput } from "./json.js";
import type { RequestOptions } from "./requester.js";

/** Imports, locks and reads models. */
export class Models {
  constructor(private readonly operations: Operations) {}

  /** All models of the tenant. */
  async list(options?: RequestOptions): Promise<Model[]> {
    return (await this.operations.entityModelGetAll({}, options)).models;
  }

  /** Makes a model of a sample document, or adds what the sample has to it; its id. */
  async import(
    model: ModelSpec,
    sample: JsonInput | object,
    options?: RequestOptions,
  ): Promise<string> {
    const request = {
      model,
      payload: sample as JsonInput,
      dataFormat: "JSON",
      converter: "SAMPLE_DATA",
    } as const;
    return (await this.operations.entityModelImport(request, options)).modelId;
  }

  /** Locks a model, so that entities can be created. */
  async lock(model: ModelSpec, options?: RequestOptions): Promise<void> {
    await this.operations.entityModelTransition({ model, transition: "LOCK" }, options);
  }

  /** Unlocks a model that has no entities. */
  async unlock(model: ModelSpec, options?: RequestOptions): Promise<void> {
    await this.operations.entityModelTransition({ model, transition: "UNLOCK" }, options);
  }

  /** Deletes a model that has no entities. */
  async delete(model: ModelSpec, options?: RequestOptions): Promise<void> {
    await this.operations.entityModelDelete({ model }, options);
  }

  /** Imports workflows of a model; their names. */
  async importWorkflows(
    model: ModelSpec,
    workflows: readonly (Workflow | JsonInput)[],
    options: RequestOptions & { importMode?: string } = {},
  ): Promise<string[]> {
    const { importMode } = options;
    const request = {
      model,
      workflows: workflows as Workflow[],
      ...(importMode && { importMode }),
    };
    return (await this.operations.entityWorkflowImport(request, options)).workflows;
  }

  /** The workflows of a model; none, if none were imported. */
  async workflows(model: ModelSpec, options?: RequestOptions): Promise<Json[]> {
    try {
      return (await this.operations.entityWorkflowExport({ model }, options)).workflows;
    } catch (error) {
      if (error instanceof InterlockError && error.code === "WORKFLOW_NOT_FOUND") return [];
      throw error;
    }
  }
}
