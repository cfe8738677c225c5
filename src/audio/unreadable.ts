/** Why a recording cannot be decoded: known by callers who act on it. */
export type AudioFault = 'empty' | 'unsupported' | 'damaged' | 'too-long' | 'too-costly';

/** A recording that cannot be decoded. Its message is a sentence for whoever sent it, and goes on from `The audio …`. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable';
  readonly fault: AudioFault;

  constructor(fault: AudioFault, message: string) {
    super(message);
    this.fault = fault;
  }
}

export const damaged = (what: string): Unreadable => new Unreadable('damaged', what);
export const unsupported = (what: string): Unreadable => new Unreadable('unsupported', what);
