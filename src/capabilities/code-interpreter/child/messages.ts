// Messages between the service and the process that runs programs: one JSON object per line. Both sides import only the
// types of this file, so that the process needs only its own folder.

/** The first line to the process. Paths are as the process sees them. */
export interface StartInterpreterCommand {
  readonly type: 'start';
  readonly nonce: string;
  readonly pyodideFolder: string;
  /** Snapshot of the interpreter's memory to start from. */
  readonly snapshotFile?: string | undefined;
  readonly wheelsFolder?: string | undefined;
  readonly wheelNames: readonly string[];
  /** True to create such a snapshot and exit. */
  readonly makesSnapshot: boolean;
  readonly limits: ProgramLimits;
}

/** Limits of one program. */
export interface ProgramLimits {
  /** Maximum memory of the interpreter. */
  readonly memoryBytes: number;
  /** Limit of stdout, and of stderr. */
  readonly outputBytesMax: number;
  /** Limit of the value of the last expression, and of an error message. */
  readonly textCharactersMax: number;
  readonly filesMax: number;
  /** Limit of all files together. */
  readonly filesBytesMax: number;
}

export interface RunProgramCommand {
  readonly type: 'run';
  /** Random number repeated in all reports on this program, so that a program cannot forge reports on another. */
  readonly nonce: string;
  readonly code: string;
  /** Files to put into the working folder before the program runs; `bytes` in base64. */
  readonly files: readonly InputFile[];
}

export interface InputFile {
  readonly name: string;
  readonly bytes: string;
}

export type InterpreterCommand = StartInterpreterCommand | RunProgramCommand;

export type InterpreterReport = { readonly nonce: string } & (
  | { readonly type: 'ready' }
  /** A chunk of a snapshot, in base64; an empty one is the last. */
  | { readonly type: 'snapshot'; readonly bytes: string }
  /** Output of the program, in base64; a chunk may end within a character. */
  | { readonly type: 'output'; readonly stream: 'stdout' | 'stderr'; readonly bytes: string }
  | { readonly type: 'file'; readonly name: string; readonly bytes: string }
  | { readonly type: 'done'; readonly outcome: ProgramOutcome }
  /** The interpreter cannot run programs any more. */
  | { readonly type: 'broken'; readonly reason: string }
);

export interface ProgramOutcome {
  readonly value?: string;
  readonly error?: string;
  readonly isTruncated: boolean;
}
