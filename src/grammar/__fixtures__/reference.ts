import addFormats from 'ajv-formats';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { JsonSchema } from '../../core/grammar.ts';

/** Whether values are valid, in the words of another implementation. */
export function createReference(): (schema: JsonSchema) => (value: unknown) => boolean {
  const ajv = new Ajv2020({
    strict: false,
    logger: false,
    // Names such as `constructor` are like any other; without this they seem to be in every object.
    ownProperties: true,
    multipleOfPrecision: 9,
    validateSchema: false,
  });
  addFormats.default(ajv);
  return (schema) => {
    const validate = ajv.compile(schema);
    if (typeof schema === 'object') ajv.removeSchema(schema);
    return (value) => validate(value);
  };
}
