/** Creates a template with turns and tools, which writes calls in this way. */
const createTemplate = (calls: string): string =>
  [
    '{% if tools %}tools: {{ tools | tojson }}{% endif %}',
    '{% for message in messages %}',
    '<|im_start|>{{ message.role }}\n',
    '{% if message.content %}{{ message.content }}{% endif %}',
    `{% if message.tool_calls %}${calls}{% endif %}`,
    '<|im_end|>\n',
    '{% endfor %}',
  ].join('');

const inLoop = (call: string): string =>
  `{% for each in message.tool_calls %}{% set call = each.function %}${call}{% endfor %}`;

const forPairs = (pair: string): string => `{% for key, value in call.arguments.items() %}${pair}{% endfor %}`;

const TEXT_OR_JSON = '{{ value if value is string else value | tojson }}';

/** Templates that write calls as families of models do, by the way in which they write them. */
export const CALL_TEMPLATES: Readonly<Record<string, string>> = {
  'an object in tags': createTemplate(
    inLoop('\n<tool_call>\n{"name": "{{ call.name }}", "arguments": {{ call.arguments | tojson }}}\n</tool_call>'),
  ),
  'a list after a mark, with ids': createTemplate(
    `[TOOL_CALLS][${inLoop('{{ ", " if not loop.first }}{"name": "{{ call.name }}", "arguments": {{ call.arguments | tojson }}, "id": "{{ each.id }}"}')}]`,
  ),
  'a name and an id between marks': createTemplate(
    inLoop('[TOOL_CALLS]{{ call.name }}[CALL_ID]{{ each.id }}[ARGS]{{ call.arguments | tojson }}'),
  ),
  'an object with other keys': createTemplate(
    `<|START_ACTION|>[${inLoop('{{ "," if not loop.first }}\n    {"tool_call_id": "{{ loop.index0 }}", "tool_name": "{{ call.name }}", "parameters": {{ call.arguments | tojson }}}')}\n]<|END_ACTION|>`,
  ),
  'an id that names the tool': createTemplate(
    `<|calls_begin|>{% for each in message.tool_calls %}<|call_begin|>{{ each.id }}<|argument_begin|>{{ each.function.arguments | tojson }}<|call_end|>{% endfor %}<|calls_end|>`,
  ),
  'names and values in tags': createTemplate(
    inLoop(
      `\n<tool_call>\n<function={{ call.name }}>\n${forPairs(`<parameter={{ key }}>\n${TEXT_OR_JSON}\n</parameter>\n`)}</function>\n</tool_call>`,
    ),
  ),
  'keys and values in tags': createTemplate(
    inLoop(
      `\n<tool_call>{{ call.name }}${forPairs(`\n<arg_key>{{ key }}</arg_key>\n<arg_value>${TEXT_OR_JSON}</arg_value>`)}\n</tool_call>`,
    ),
  ),
  'attributes that tell strings': createTemplate(
    `\n<calls>${inLoop(
      `\n<invoke name="{{ call.name }}">${forPairs(`\n<parameter name="{{ key }}" string="{{ 'true' if value is string else 'false' }}">${TEXT_OR_JSON}</parameter>`)}\n</invoke>`,
    )}\n</calls>`,
  ),
  'a list of Python calls': createTemplate(
    `<|call_start|>[${inLoop(`{{ ", " if not loop.first }}{{ call.name }}(${forPairs("{{ ', ' if not loop.first }}{{ key }}={% if value is string %}'{{ value }}'{% else %}{{ value | tojson }}{% endif %}")})`)}]<|call_end|>`,
  ),
  'quotes that are a token': createTemplate(
    inLoop(
      `<|call>call:{{ call.name }}{{ '{' }}${forPairs(`{{ ',' if not loop.first }}{{ key }}:{% if value is string %}<|"|>{{ value }}<|"|>{% else %}{{ value | tojson }}{% endif %}`)}{{ '}' }}<call|>`,
    ),
  ),
  'values between tokens, after keys without a mark': createTemplate(
    inLoop(
      `<call>call:{{ call.name }}{{ '{' }}${forPairs(`{{ ',' if not loop.first }}{{ key }}:<escape>${TEXT_OR_JSON}<escape>`)}{{ '}' }}</call>`,
    ),
  ),
  'keys as tags, with nested values': createTemplate(
    `{% macro show(value) %}{% if value is mapping %}{% for key, item in value.items() %}~<{{ key }}>{{ show(item) }}~</{{ key }}>{% endfor %}{% elif value is iterable and value is not string %}{% for item in value %}~<item>{{ show(item) }}~</item>{% endfor %}{% else %}${TEXT_OR_JSON}{% endif %}{% endmacro %}~<calls>${inLoop(
      `\n~<invoke name="{{ call.name }}">${forPairs('~<{{ key }}>{{ show(value) }}~</{{ key }}>')}~</invoke>`,
    )}\n~</calls>`,
  ),
  'attributes that name types, after the end of a text': createTemplate(
    `{% macro name(value) %}{{ 'string' if value is string else 'boolean' if value is boolean else 'number' if value is number else 'object' if value is mapping else 'array' }}{% endmacro %}<|open|>tools${inLoop(
      `<|sep|><|open|>call tool="{{ call.name }}" index="{{ loop.index }}"${forPairs(`<|sep|><|open|>argument key="{{ key }}" type="{{ name(value) }}"<|sep|>${TEXT_OR_JSON}<|close|>argument`)}<|sep|><|close|>call`,
    )}<|sep|><|close|>tools`,
  ),
  'values with markup in sections of text': createTemplate(
    inLoop(
      `\n<function name="{{ call.name }}">${forPairs(`<param name="{{ key }}">{% if value is string and '<' in value %}<![CDATA[{{ value }}]]>{% else %}${TEXT_OR_JSON}{% endif %}</param>`)}</function>`,
    ),
  ),
};
