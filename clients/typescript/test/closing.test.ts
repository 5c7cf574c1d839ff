/** Members that are stopped while they join. */
import { it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { Member, silentLogger } from "interlock-client";
import { deferred, scripted } from "./scripted.js";

it("a member that is stopped before it is greeted leaves, and does not join", async () => {
  const [asked, stopped, left] = [deferred<void>(), deferred<void>(), deferred<void>()];
  await using server = await scripted(async (side) => {
    await side.read();
    asked.resolve();
    await stopped.promise;
    side.write("CalculationMemberGreetEvent", { memberId: "m-1", success: true });
    await side.left;
    left.resolve();
  });
  const stopping = new AbortController();
  const member = new Member(server.target, { tags: [], logger: silentLogger });
  const running = member.run({ signal: stopping.signal });
  await asked.promise;
  stopping.abort();
  await setImmediate();
  stopped.resolve();
  await running;
  await left.promise;
});
