/** The compute member of the example: the processors that the workflow of reports names. */
import { Decimal } from "decimal.js";
import {
  type Context,
  type Entity,
  JsonNumber,
  Member,
  type MemberOptions,
  type ModelSpec,
} from "interlock-client";

/** The model of reports. */
export const REPORT: ModelSpec = { name: "earthquake", version: 1 };
/** The model of alerts. */
export const ALERT: ModelSpec = { name: "earthquake-alert", version: 1 };

/** What the workflow asks of members, as `calculationNodesTags`. */
export const TAG = "earthquakes";

/** The part of a report that the processors read; its numbers keep their digits. */
export interface Report {
  id: string;
  properties: {
    mag: JsonNumber;
    place: string;
    status: string;
    tsunami: JsonNumber;
    alert: string | null;
  };
  geometry: { coordinates: [JsonNumber, JsonNumber, JsonNumber] };
}

/** Makes the member; it has not joined yet. */
export function makeMember(server: string, options: MemberOptions = {}): Member {
  return new Member(server, { ...options, tags: [TAG] })
    .processor<Report>("assess", assess)
    .processor<Report>("raise-alert", raiseAlert)
    .processor<Report>("sign-off", signOff);
}

/** Adds what the report does not say itself: how deep, and how much energy. */
function assess({ data }: Entity<Report>): object {
  const depth = data.geometry.coordinates[2];
  const assessment = {
    depthKm: depth,
    depthClass: depthClass(depth.toNumber()),
    energyJoules: energy(data.properties.mag),
  };
  return { ...data, assessment };
}

/** Makes an alert, which is there only if the report gets to `ALERTED`. */
async function raiseAlert({ id, data }: Entity<Report>, context: Context): Promise<object> {
  const { properties } = data;
  const alert = await context.entity.create(ALERT, {
    reportId: data.id,
    place: properties.place,
    magnitude: properties.mag,
    reasons: reasons(properties),
    report: id,
  });
  return { ...data, alertId: alert.entityId };
}

/**
 * Marks a report as reviewed by the user who confirmed it. The report then goes through the criteria
 * of `ASSESSED` once more, as a reviewed one.
 */
function signOff({ data }: Entity<Report>, context: Context): object {
  const { properties } = data;
  return {
    ...data,
    properties: { ...properties, status: "reviewed" },
    review: { by: context.caller.id, statusBefore: properties.status },
  };
}

/** Names a depth as seismologists do. */
function depthClass(depthKm: number): string {
  if (depthKm < 70) return "shallow";
  return depthKm < 300 ? "intermediate" : "deep";
}

/** Estimates the energy that was radiated, in joules (Gutenberg and Richter, 1956). */
function energy(magnitude: JsonNumber): JsonNumber {
  const exponent = new Decimal(magnitude.text).times("1.5").plus("4.8");
  const joules = new Decimal(10).pow(exponent).toDecimalPlaces(0, Decimal.ROUND_HALF_EVEN);
  return new JsonNumber(joules.toFixed());
}

/** Says why a report is worth an alert, as the criteria of `raise_alert` do. */
function reasons({ tsunami, alert, mag }: Report["properties"]): string[] {
  const given: string[] = [];
  if (tsunami.text === "1") given.push("tsunami warning");
  if (alert !== null) given.push(`alert level ${alert}`);
  if (mag.toNumber() >= 5) given.push(`magnitude ${mag}`);
  return given;
}
