import type { DestinationStream } from 'pino';

/** Lines for a person at a terminal: time, level, message, facts. What is no JSON is passed on as it is. */
export function prettyLines(stream: { write(text: string): unknown }): DestinationStream {
  return {
    write(lines) {
      for (const line of lines.split('\n')) if (line !== '') stream.write(`${describe(line)}\n`);
    },
  };
}

function describe(line: string): string {
  let facts: unknown;
  try {
    facts = JSON.parse(line);
  } catch {
    return line.trimEnd();
  }
  if (typeof facts !== 'object' || facts === null) return line.trimEnd();
  const { level, time, msg, ...rest } = facts as Record<string, unknown>;
  const words = Object.entries(rest).map(
    ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return [String(time).slice(11, 19), String(level).padEnd(5), String(msg), ...words].join(' ');
}
