import { createArgumentWriter, createWritingBody } from './argument-writer.ts';
import type { CallBody } from './call-body.ts';
import { createLiteralConverter } from './literal-converter.ts';
import type { ArgumentSyntax } from './tool-formats.ts';

/** Creates a parser of arguments that are written as literals, such as `city='Ulm', days=2`. */
export function createLiteralsBody({ quote }: Extract<ArgumentSyntax, { type: 'literals' }>): CallBody {
  const writer = createArgumentWriter();
  const converter = createLiteralConverter({ kind: 'arguments', quote, writer });
  const end = (): void => {
    if (body.hasAllArguments) return;
    body.hasAllArguments = true;
    converter.end();
    writer.end();
  };
  const body = createWritingBody(writer, {
    take(code) {
      if (converter.take(String.fromCharCode(code))) return 'more';
      end();
      return 'done-before';
    },
    end,
  });
  return body;
}
