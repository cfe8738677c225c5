/** As callers write it: draft 2020-12, or an older draft's `definitions`. */
export type JsonSchema = boolean | Readonly<Record<string, unknown>>;

/** What generated text must look like, in no engine's notation; an engine that declares `grammar` enforces it. */
export type Grammar =
  | { readonly type: 'text'; readonly text: string }
  /** JSON text that is valid under the schema. `field` is where it stands in the request; refusals name it. */
  | { readonly type: 'schema'; readonly schema: JsonSchema; readonly field: string }
  | { readonly type: 'sequence'; readonly parts: readonly Grammar[] }
  | { readonly type: 'choice'; readonly options: readonly Grammar[] }
  /** One or more characters, none of these. */
  | { readonly type: 'without'; readonly characters: string };
