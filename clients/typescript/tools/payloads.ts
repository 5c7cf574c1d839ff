import { isDocument, referenced, type Schema, type SchemaOrAny } from "./schema.js";

/** Names that mean something else in TypeScript. */
const RENAMED: Record<string, string> = { Error: "EventError" };

/** Which of the numbers of an event belong to documents; see `shapes` in the runtime. */
type Shape = true | string | { [member: string]: Shape };

/** Makes the types of all events, and tables of the places of documents in them. */
export class Payloads {
  private readonly declared = new Map<string, string>();
  private readonly shapes = new Map<string, Shape | undefined>();

  /** Adds the type of an event and the definitions it refers to. */
  addEvent(schema: Schema, sentByClient: boolean): void {
    const name = schema.title ?? "";
    const file = new File(this, name, schema.$defs ?? {}, sentByClient);
    const required = (schema.required ?? []).filter((member) => !sentByClient || member !== "id");
    const properties = { ...schema.properties };
    // A client throws it, so no caller sees it.
    if (!sentByClient) delete properties.error;
    const all = schema.properties === undefined ? schema : { ...schema, properties, required };
    this.declare(name, file.declaration(name, all));
    if (!sentByClient) this.addShape(name, file.shape(schema));
  }

  /** Adds a declaration; false if another one has the name. */
  declare(name: string, text: string): boolean {
    const known = this.declared.get(name);
    if (known === undefined) this.declared.set(name, text);
    return known === undefined || known === text;
  }

  addShape(name: string, shape: Shape | undefined): void {
    this.shapes.set(name, shape);
  }

  hasShape(name: string): boolean {
    return this.shapes.has(name);
  }

  /** The module with the types. */
  types(): string {
    const sorted = [...this.declared].sort(([one], [other]) => (one < other ? -1 : 1));
    return [
      'import type { Json, JsonInput } from "../json.js";\n',
      ...sorted.map(([, text]) => text),
    ].join("\n");
  }

  /** The module with the places of documents. */
  shapesModule(): string {
    const kept = new Map([...this.shapes].filter(([, shape]) => this.holdsDocuments(shape)));
    const rows = [...kept]
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, shape]) => `  ${name}: ${JSON.stringify(this.pruned(shape))},`);
    return [
      'import type { Shape } from "../shape.js";\n',
      "/** Where events of the server contain documents; a name refers to another row. */",
      `export const SHAPES: Readonly<Record<string, Shape>> = {\n${rows.join("\n")}\n};\n`,
    ].join("\n");
  }

  private pruned(shape: Shape | undefined): Shape | undefined {
    if (typeof shape !== "object") return shape;
    const members = Object.entries(shape).filter(([, member]) => this.holdsDocuments(member));
    return Object.fromEntries(members.map(([name, member]) => [name, this.pruned(member) ?? true]));
  }

  private holdsDocuments(shape: Shape | undefined, seen: ReadonlySet<string> = new Set()): boolean {
    if (shape === undefined) return false;
    if (shape === true) return true;
    if (typeof shape === "string") {
      return (
        !seen.has(shape) && this.holdsDocuments(this.shapes.get(shape), new Set([...seen, shape]))
      );
    }
    return Object.values(shape).some((member) => this.holdsDocuments(member, seen));
  }
}

/** One schema file: its references are names of its own definitions. */
class File {
  private readonly names = new Map<string, string>();

  constructor(
    private readonly payloads: Payloads,
    private readonly event: string,
    private readonly definitions: Record<string, SchemaOrAny>,
    private readonly sentByClient: boolean,
  ) {}

  declaration(name: string, schema: SchemaOrAny): string {
    const comment = typeof schema === "object" ? documented(schema.description, "") : "";
    const isObject = typeof schema === "object" && schema.properties !== undefined;
    return isObject
      ? `${comment}export interface ${name} ${this.object(schema, "")}\n`
      : `${comment}export type ${name} = ${this.type(schema, "")};\n`;
  }

  private type(schema: SchemaOrAny, indent: string): string {
    if (isDocument(schema)) return this.document(schema);
    if (typeof schema === "boolean") return "never";
    const name = referenced(schema);
    if (name !== undefined) return this.named(name);
    if (schema.const !== undefined) return JSON.stringify(schema.const);
    if (schema.enum !== undefined) return union(schema.enum.map((value) => JSON.stringify(value)));
    const branches = schema.oneOf ?? schema.anyOf;
    if (branches !== undefined) return union(branches.map((branch) => this.type(branch, indent)));
    const types = Array.isArray(schema.type) ? schema.type : [schema.type];
    return union(types.map((type) => this.plain(type, schema, indent)));
  }

  private document(schema: SchemaOrAny): string {
    const any = this.sentByClient ? "JsonInput" : "Json";
    const isObject = typeof schema === "object" && schema.type === "object";
    return isObject ? `{ [member: string]: ${any} }` : any;
  }

  private plain(type: string | undefined, schema: Schema, indent: string): string {
    switch (type) {
      case "integer":
      case "number":
        return "number";
      case "array":
        return listOf(this.type(schema.items ?? true, indent), this.sentByClient);
      case "object":
      case undefined:
        return this.object(schema, indent);
      default:
        return type;
    }
  }

  private object(schema: Schema, indent: string): string {
    if (schema.properties === undefined) {
      return `{ [member: string]: ${this.type(schema.additionalProperties ?? true, indent)} }`;
    }
    const deeper = `${indent}  `;
    const members = Object.entries(schema.properties).map(([name, member]) => {
      const comment = typeof member === "object" ? documented(member.description, deeper) : "";
      const optional = schema.required?.includes(name) === true ? "" : "?";
      const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
      return `${comment}${deeper}${key}${optional}: ${this.type(member, deeper)};`;
    });
    return `{\n${members.join("\n")}\n${indent}}`;
  }

  /** The name of a definition's type, which is declared if it is not yet. */
  private named(name: string): string {
    const known = this.names.get(name);
    if (known !== undefined) return known;
    const schema = this.definitions[name] ?? true;
    // Before its members are, because they may refer to it.
    const plain = RENAMED[name] ?? name;
    this.names.set(name, plain);
    if (!this.payloads.declare(plain, this.declaration(plain, schema))) {
      const own = `${this.event}${name}`;
      this.names.set(name, own);
      this.payloads.declare(own, this.declaration(own, schema));
    }
    return this.names.get(name) ?? plain;
  }

  /** Where documents are. */
  shape(schema: SchemaOrAny): Shape | undefined {
    if (isDocument(schema)) return true;
    if (typeof schema === "boolean") return undefined;
    const name = referenced(schema);
    if (name !== undefined) return this.shapeOf(name);
    const branches = schema.oneOf ?? schema.anyOf;
    if (branches !== undefined) return merged(branches.map((branch) => this.shape(branch)));
    if (schema.items !== undefined) return this.shape(schema.items);
    const members = Object.entries(schema.properties ?? {});
    const shapes: { [member: string]: Shape } = {};
    for (const [member, inner] of members) {
      // What failed is thrown, and its properties are plain numbers.
      const shape = member === "error" ? undefined : this.shape(inner);
      if (shape !== undefined) shapes[member] = shape;
    }
    const rest = schema.additionalProperties;
    const others = members.length === 0 && rest !== undefined ? this.shape(rest) : undefined;
    if (others !== undefined) shapes["*"] = others;
    return Object.keys(shapes).length > 0 ? shapes : undefined;
  }

  private shapeOf(name: string): string {
    const own = this.named(name);
    if (!this.payloads.hasShape(own)) {
      this.payloads.addShape(own, undefined);
      this.payloads.addShape(own, this.shape(this.definitions[name] ?? true));
    }
    return own;
  }
}

function union(types: string[]): string {
  const distinct = [...new Set(types)];
  return distinct.includes("Json") || distinct.includes("JsonInput")
    ? (distinct.find((type) => type.startsWith("Json")) ?? "Json")
    : distinct.join(" | ");
}

function listOf(item: string, isReadonly: boolean): string {
  const list = /[|]/.test(item) && !item.startsWith("{") ? `(${item})[]` : `${item}[]`;
  return isReadonly ? `readonly ${list}` : list;
}

function merged(shapes: (Shape | undefined)[]): Shape | undefined {
  const kept = shapes.filter((shape) => shape !== undefined);
  if (kept.length < 2) return kept[0];
  if (kept.some((shape) => shape === true)) return true;
  if (kept.some((shape) => typeof shape !== "object")) return kept[0];
  return Object.assign({}, ...kept) as Shape;
}

/** A description as a comment. */
export function documented(text: string | undefined, indent: string): string {
  if (text === undefined || text === "") return "";
  const lines = text.replaceAll("*/", "* /").split("\n");
  return lines.length === 1
    ? `${indent}/** ${lines[0]} */\n`
    : `${indent}/**\n${lines.map((line) => `${indent} * ${line}`).join("\n")}\n${indent} */\n`;
}
