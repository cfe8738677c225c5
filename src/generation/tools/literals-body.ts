import type { JsonSchema } from '../../core/grammar.ts';
import { getProperty, namesTypes, toAllowedJson } from './argument-value.ts';
import { createArgumentWriter, createWritingBody } from './argument-writer.ts';
import type { CallBody } from './call-body.ts';
import { createLiteralConverter } from './literal-converter.ts';
import type { ArgumentSyntax } from './tool-formats.ts';

/**
 * Creates a parser of arguments that are written as literals, such as `city='Ulm', days=2`. A value without quotes becomes
 * what the schema allows.
 *
 * @param parameters Schema of the called tool's arguments.
 */
export function createLiteralsBody(
  { quote }: Extract<ArgumentSyntax, { type: 'literals' }>,
  parameters: JsonSchema | undefined,
): CallBody {
  const writer = createArgumentWriter();
  const converter = createLiteralConverter({
    kind: 'arguments',
    quote,
    writer,
    toJson(word, key) {
      const property = getProperty(parameters, key);
      return namesTypes(property, parameters) ? toAllowedJson(word, property, parameters) : undefined;
    },
  });
  const end = (): void => {
    if (body.hasAllArguments) return;
    body.hasAllArguments = true;
    converter.end();
    writer.end();
  };
  const body = createWritingBody(writer, {
    take(code) {
      const isTaken = converter.take(String.fromCharCode(code));
      body.extraCharacters = converter.countUncertain();
      if (isTaken) return 'more';
      end();
      return 'done-before';
    },
    end,
  });
  return body;
}
