import assert from "node:assert/strict";
import { it } from "node:test";
import { drift } from "../tools/generate.js";

it("the generated layer is what `npm run generate` makes of the schemas and the protocol", () => {
  assert.deepEqual(drift(), [], "run `npm run generate`");
});
