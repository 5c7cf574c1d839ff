import { Entities } from "./entities.js";
import { Operations } from "./generated/operations.js";
import { Models } from "./models.js";
import type { Asker } from "./requester.js";
import { Runs } from "./runs.js";

/** All that can be asked of a server. */
export class Api {
  /** Every operation, with the types of its request and answer. */
  readonly operations: Operations;
  /** Entities: the most common operations, in short. */
  readonly entity: Entities;
  /** Models and workflows. */
  readonly model: Models;
  /** Runs of step workflows. */
  readonly run: Runs;

  constructor(asker: Asker) {
    this.operations = new Operations(asker);
    this.entity = new Entities(this.operations);
    this.model = new Models(this.operations);
    this.run = new Runs(this.operations);
  }
}
