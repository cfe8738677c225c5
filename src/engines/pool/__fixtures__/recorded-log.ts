import type { Facts, Log } from '../../../core/telemetry.ts';

export interface RecordedLog extends Log {
  readonly lines: readonly { readonly message: string; readonly facts: Facts }[];
}

export function createRecordedLog(): RecordedLog {
  const lines: { message: string; facts: Facts }[] = [];
  const write = (message: string, facts: Facts = {}): void => void lines.push({ message, facts });
  return { lines, info: write, warn: write, error: write };
}
