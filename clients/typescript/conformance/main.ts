/** The conformance program of the TypeScript client; see clients/conformance/README.md. */
import { Program } from "./program.js";

await new Program().run();
