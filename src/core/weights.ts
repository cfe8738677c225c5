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
  | PackagesSource
  /** A file the operator put somewhere. */
  | { readonly type: 'file'; readonly path: string };

/** Parts in Python wheels, joined in order. `sha256` is that of the joined file. */
export interface PackagesSource {
  readonly type: 'packages';
  readonly parts: readonly WheelPart[];
  readonly sha256: string;
}

/** One member of one wheel. */
export interface WheelPart {
  readonly package: string;
  readonly version: string;
  readonly member: string;
}

/** What a folder of weights is for: to hear speech, or to make vectors of texts. */
export const WEIGHTS_TASKS = ['speech', 'vectors'] as const;
export type WeightsTask = (typeof WEIGHTS_TASKS)[number];

/** A file in a folder of weights. */
export interface FolderFile {
  readonly name: string;
  readonly sizeBytes: number;
  readonly sha256: string;
}

/** Several files that are one set of weights, for the engine that is installed on demand. */
export interface WeightsFolder {
  readonly task: WeightsTask;
  /** As they come. */
  readonly files: readonly (FolderFile & { readonly source: PackagesSource })[];
  /** Files that are made on this machine, of one that nobody offers in the layout that we run. */
  readonly conversion?: WeightsConversion;
}

export interface WeightsConversion {
  /** A whisper model of CTranslate2 with half floats; the folder's config.json belongs to it. */
  readonly layout: 'ct2-whisper';
  readonly sizeBytes: number;
  readonly source: PackagesSource;
  readonly files: readonly FolderFile[];
}

/** A set of weights; several models may share one. */
export interface Weights {
  /** Also the name of the file in the models folder, without `.gguf`; of the folder, without `.onnx`. */
  readonly id: string;
  /** About: the files of different sources may differ a little. For plans and displays; content is checked by hash. */
  readonly sizeBytes?: number;
  readonly licence: string;
  /** Of a single file; none where it is a folder. */
  readonly sources: readonly WeightsSource[];
  readonly folder?: WeightsFolder;
  readonly contextTokensMax: number;
}
