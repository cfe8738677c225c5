import type { CallBody } from './call-body.ts';

/** Collects the JSON text of arguments while a call in another syntax is parsed. */
export interface ArgumentWriter {
  /** Starts an argument. */
  startKey(key: string): void;
  write(json: string): void;
  /** Writes all members of an object as arguments. @param object JSON text. */
  writeMembers(object: string): void;
  /** Ends the object. */
  end(): void;
  /** Returns what was written since the last call. */
  take(): string;
}

export function createArgumentWriter(): ArgumentWriter {
  let json = '';
  let isEmpty = true;
  return {
    startKey(key) {
      json += `${isEmpty ? '{' : ', '}${JSON.stringify(key)}: `;
      isEmpty = false;
    },
    write(text) {
      json += text;
    },
    writeMembers(object) {
      const members = object.trim().slice(1, -1).trim();
      if (members === '') return;
      json += (isEmpty ? '{' : ', ') + members;
      isEmpty = false;
    },
    end() {
      json += isEmpty ? '{}' : '}';
    },
    take() {
      const text = json;
      json = '';
      return text;
    },
  };
}

/** Creates a call body that returns what its parser writes; `end` completes the arguments. */
export const createWritingBody = (
  writer: Pick<ArgumentWriter, 'take'>,
  { take, end }: { readonly take: CallBody['take']; readonly end: () => void },
): { -readonly [Name in keyof CallBody]: CallBody[Name] } => ({
  extraCharacters: 0,
  hasAllArguments: false,
  take,
  takeCertain: () => writer.take(),
  takeRemaining() {
    end();
    return writer.take();
  },
  takeCut: () => writer.take(),
});

/** Returns a text as the inside of a JSON string. */
export const escapeJson = (text: string): string => JSON.stringify(text).slice(1, -1);
