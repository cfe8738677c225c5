/** A question for which the smallest model calls the function below. */
export const WEATHER_QUESTION = 'What is the weather in Paris right now?';

export const WEATHER_FUNCTION = {
  name: 'get_weather',
  description: 'Get the current weather in a city.',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string', description: 'The name of the city.' } },
    required: ['city'],
    additionalProperties: false,
  },
};

/** The result of the function for every city. */
export const WEATHER_RESULT = { temperature: 21, sky: 'sunny' };
