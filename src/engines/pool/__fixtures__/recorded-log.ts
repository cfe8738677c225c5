import type { LogFields, Log } from '../../../core/telemetry.ts';

export interface RecordedLog extends Log {
  readonly lines: readonly { readonly message: string; readonly fields: LogFields }[];
}

export function createRecordedLog(): RecordedLog {
  const lines: { message: string; fields: LogFields }[] = [];
  const write = (message: string, fields: LogFields = {}): void => void lines.push({ message, fields });
  return { lines, info: write, warn: write, error: write };
}
