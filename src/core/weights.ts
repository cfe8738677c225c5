/** Where the bytes of a weights file may come from, tried in the order of decisions.md (disk and PARLEY_MODELS first). */
export type WeightsSource =
  /** A file of a model hub. `sha256` only where we have seen it; else the hub's announced hash is taken and recorded. */
  | {
      readonly type: 'hub';
      readonly repository: string;
      readonly file: string;
      readonly revision: string;
      readonly sha256?: string;
    }
  /** Parts in Python wheels, joined in order. `sha256` is that of the joined file. */
  | {
      readonly type: 'packages';
      readonly parts: readonly WheelPart[];
      readonly sha256: string;
    }
  /** A file the operator put somewhere. */
  | { readonly type: 'file'; readonly path: string };

/** One member of one wheel. */
export interface WheelPart {
  readonly package: string;
  readonly version: string;
  readonly member: string;
}

/** A set of weights; several models may share one. */
export interface Weights {
  /** Also the name of the file in the models folder, without `.gguf`. */
  readonly id: string;
  /** About: the files of different sources may differ a little. For plans and displays; content is checked by hash. */
  readonly sizeBytes?: number;
  readonly licence: string;
  readonly sources: readonly WeightsSource[];
  readonly contextTokensMax: number;
}
