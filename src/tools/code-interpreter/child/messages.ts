// What the service and the process that runs programs say to each other: one JSON object a line. Both sides import this file
// only for its types, so that the process needs nothing but the folder it lies in.

/** The first line to the process. Paths are as the process sees them. */
export interface StartOrder {
  readonly type: 'start';
  readonly nonce: string;
  readonly pyodideFolder: string;
  /** An image of the interpreter's memory, to start from. */
  readonly snapshotFile?: string;
  readonly wheelsFolder?: string;
  readonly wheelNames: readonly string[];
  /** Instead of getting ready, the process makes such an image and ends. */
  readonly isForSnapshot: boolean;
  readonly limits: ProgramLimits;
}

/** What one program may use and say. */
export interface ProgramLimits {
  /** Of the interpreter's memory. */
  readonly memoryBytes: number;
  /** Of stdout and of stderr. */
  readonly outputBytesMax: number;
  /** Of the last expression's value, and of an error's message. */
  readonly textCharactersMax: number;
  readonly filesMax: number;
  /** Of all files together. */
  readonly filesBytesMax: number;
}

export interface RunOrder {
  readonly type: 'run';
  /** Comes back with all that is said of this program: whoever does not know it cannot speak for us. */
  readonly nonce: string;
  readonly code: string;
  /** Put into the working folder before it runs; `bytes` in base64. */
  readonly files: readonly InputFile[];
}

export interface InputFile {
  readonly name: string;
  readonly bytes: string;
}

export type Order = StartOrder | RunOrder;

export type Report = { readonly nonce: string } & (
  | { readonly type: 'ready' }
  /** A piece of an image, in base64; one without bytes is the last. */
  | { readonly type: 'snapshot'; readonly bytes: string }
  /** What the program printed, in base64: pieces of it may end within a character. */
  | { readonly type: 'printed'; readonly stream: 'stdout' | 'stderr'; readonly bytes: string }
  | { readonly type: 'file'; readonly name: string; readonly bytes: string }
  | { readonly type: 'done'; readonly outcome: Outcome }
  /** Nothing can run here any more. */
  | { readonly type: 'broken'; readonly reason: string }
);

export interface Outcome {
  readonly value?: string;
  readonly error?: string;
  readonly isCut: boolean;
}
