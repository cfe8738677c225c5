import { Ajv2020 } from 'ajv/dist/2020.js';
import type { JsonSchema } from '../../core/grammar.ts';
import { FORMATS, isOfFormat } from '../format-checks/is-of-format.ts';

/**
 * Creates a validator by another implementation (Ajv). Formats are the exception: Ajv's are narrower than the standards,
 * and the checks of formats have tests of their own.
 */
export function createReferenceValidator(): (schema: JsonSchema) => (value: unknown) => boolean {
  const ajv = new Ajv2020({
    strict: false,
    logger: false,
    // Makes names such as `constructor` ordinary; otherwise every object seems to have them.
    ownProperties: true,
    multipleOfPrecision: 9,
    validateSchema: false,
  });
  for (const format of FORMATS) ajv.addFormat(format, (text: string) => isOfFormat(text, format));
  return (schema) => {
    const validate = ajv.compile(schema);
    if (typeof schema === 'object') ajv.removeSchema(schema);
    return (value) => validate(value);
  };
}
