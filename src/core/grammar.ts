/** A JSON Schema as callers write it: draft 2020-12, or an older draft with `definitions`. */
export type JsonSchema = boolean | Readonly<Record<string, unknown>>;

/** Form that generated text must have, independent of any engine. Engines with the `grammar` capability enforce it. */
export type Grammar =
  | { readonly type: 'text'; readonly text: string }
  /** JSON text that is valid under the schema. `field` is the schema's path in the request, for error messages. */
  | { readonly type: 'schema'; readonly schema: JsonSchema; readonly field: string }
  | { readonly type: 'sequence'; readonly parts: readonly Grammar[] }
  | { readonly type: 'choice'; readonly options: readonly Grammar[] }
  /** One or more characters, excluding those listed. */
  | { readonly type: 'without'; readonly characters: string }
  /** Any text, possibly none, in which `text` does not occur. */
  | { readonly type: 'without-text'; readonly text: string };
