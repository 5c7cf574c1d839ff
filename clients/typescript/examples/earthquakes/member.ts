/** Serves the processors of the example until it is stopped with Ctrl-C or SIGTERM. */
import { parseArgs } from "node:util";
import { makeMember } from "./processors.js";

const { values } = parseArgs({
  options: { server: { type: "string", default: "localhost:9090" } },
});
await makeMember(values.server).run();
