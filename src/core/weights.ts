/** A source of a weights file. Sources are tried in order, after the models folder and the folders of PARLEY_MODELS. */
export type WeightsSource =
  /**
   * A file of a model hub, or the first part of a split file. Without `sha256`, the file must have the hash that the hub
   * announces. A file without any known hash is downloaded only with `trust`.
   */
  | {
      readonly type: 'hub';
      readonly repository: string;
      readonly file: string;
      readonly revision: string;
      readonly sha256?: string;
      /** Hashes of the parts of a split file, in order; `sha256` is then absent. */
      readonly partHashes?: readonly string[];
      readonly trust?: boolean;
    }
  | PackagesSource
  /** A file that the operator provides, or the first part of a split one. */
  | { readonly type: 'file'; readonly path: string };

/** Parts in Python wheels, joined in order. `sha256` is the hash of the joined file. */
export interface PackagesSource {
  readonly type: 'packages';
  readonly parts: readonly WheelPart[];
  readonly sha256: string;
}

/** One member file of a wheel. */
export interface WheelPart {
  readonly package: string;
  readonly version: string;
  readonly member: string;
}

/** Purpose of a folder of weights: `speech` recognition, or `vectors` (embeddings of texts). */
export const WEIGHTS_TASKS = ['speech', 'vectors'] as const;
export type WeightsTask = (typeof WEIGHTS_TASKS)[number];

/** A file in a folder of weights. */
export interface FolderFile {
  readonly name: string;
  readonly sizeBytes: number;
  readonly sha256: string;
}

/** Several files that form one set of weights, for the engine that is installed on demand. */
export interface WeightsFolder {
  readonly task: WeightsTask;
  /** Files that are used as downloaded. */
  readonly files: readonly (FolderFile & { readonly source: PackagesSource })[];
  /** Files that Parley converts locally, because no source offers them in the layout that the engine reads. */
  readonly conversion?: WeightsConversion;
}

export interface WeightsConversion {
  /** A CTranslate2 whisper model with 16-bit floats. The folder's config.json belongs to it. */
  readonly layout: 'ct2-whisper';
  readonly sizeBytes: number;
  readonly source: PackagesSource;
  readonly files: readonly FolderFile[];
}

/** A set of weights. Several models may share it. */
export interface Weights {
  /** Also the name of the file in the models folder (without `.gguf`) or of the folder (without `.onnx`). */
  readonly id: string;
  /** Approximate, for plans and displays: files of different sources may differ slightly. Hashes verify the content. */
  readonly sizeBytes?: number;
  readonly licence: string;
  /** Sources of a single file. Empty when `folder` is present. */
  readonly sources: readonly WeightsSource[];
  readonly folder?: WeightsFolder;
  readonly contextTokensMax: number;
  /** Share of the file that the engine reads for each token: below 1 for a mixture of experts. Absent: unknown, or 1. */
  readonly activeShare?: number;
  /** Size of the keys and values of one token, at two bytes per number. Absent: unknown. */
  readonly cacheBytesPerToken?: number;
  /** Whether the model calls tools in a format that Parley reads. */
  readonly hasTools?: boolean;
}
