// Sends two responses, the second with the first as its history, with the openai client.
import OpenAI from 'openai';

const client = new OpenAI({
  apiKey: process.env.PARLEY_KEY,
  baseURL: `${process.env.PARLEY_URL ?? 'http://127.0.0.1:8000'}/v1`,
});
const first = await client.responses.create({ model: 'svc-plus', input: 'Name a color.', max_output_tokens: 24 });
console.log(first.output_text);

const second = await client.responses.create({
  model: 'svc-plus',
  input: 'Name another one.',
  previous_response_id: first.id,
  max_output_tokens: 24,
});
console.log(second.output_text);
