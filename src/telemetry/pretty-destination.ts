import type { DestinationStream } from 'pino';

/**
 * Creates a destination that formats JSON log lines for a terminal: time, level, message, fields. Passes other lines
 * on.
 */
export function createPrettyDestination(stream: { write(text: string): unknown }): DestinationStream {
  return {
    write(lines) {
      for (const line of lines.split('\n')) if (line !== '') stream.write(`${formatLine(line)}\n`);
    },
  };
}

function formatLine(line: string): string {
  let fields: unknown;
  try {
    fields = JSON.parse(line);
  } catch {
    return line.trimEnd();
  }
  if (typeof fields !== 'object' || fields === null) return line.trimEnd();
  const { level, time, msg, ...rest } = fields as Record<string, unknown>;
  const fieldTexts = Object.entries(rest).map(
    ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return [String(time).slice(11, 19), String(level).padEnd(5), String(msg), ...fieldTexts].join(' ');
}
