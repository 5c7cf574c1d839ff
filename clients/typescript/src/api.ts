import { Entities } from "./entities.js";
import { Operations } from "./generated/operations.js";
import { Models } from "./models.js";
import type { Asker } from "./requester.js";
import { Runs } from "./runs.js";

/** All that can be asked of a server. */
export class Api {
  /** Every operation, with the types of its request and answer. */
  readonly operations: Operations;
  private entities: Entities | undefined;
  private models: Models | undefined;
  private runs: Runs | undefined;

  constructor(asker: Asker) {
    this.operations = new Operations(asker);
  }

  // Made when they are used, because every call of a member has them.

  /** Entities: the most common operations, in short. */
  get entity(): Entities {
    this.entities ??= new Entities(this.operations);
    return this.entities;
  }

  /** Models and workflows. */
  get model(): Models {
    this.models ??= new Models(this.operations);
    return this.models;
  }

  /** Runs of step workflows. */
  get run(): Runs {
    this.runs ??= new Runs(this.operations);
    return this.runs;
  }
}
