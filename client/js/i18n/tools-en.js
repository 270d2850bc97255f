// English texts of the pictures of tool calls; loaded with them.

yaa.define('i18n/tools-en', [], () => {
  return {
    'tool.more': 'Show {n, plural, one {# more line} other {# more lines}}',
    'tool.asJson': 'Show as JSON',
    'tool.asPicture': 'Show as picture',
    'tool.wereEdited': 'You changed the arguments before this ran.',
    'tool.repairs': 'Arguments made to fit',

    'shell.command': 'Command',
    'shell.code': 'Python code',
    'shell.stderr': 'Standard error',
    'shell.exit': 'exit code {code}',
    'shell.signal': 'ended by signal {n}',
    'shell.leftOut': '{n} {unit, select, bytes {bytes} other {characters}} of output are not kept: only its beginning and its end.',
    'shell.rest': 'End of the output',

    'diff.label': 'Changes in {path}',
    'diff.count': '{added} added, {removed} removed',
    'diff.created': 'new file',
    'diff.replaced': 'whole file replaced',
    'diff.places': '{n, plural, one {# place} other {# places}}',
    'diff.none': 'No line changed.',
    'diff.unended': ' no line break at the end',
    'diff.gap': '{n, plural, one {# unchanged line} other {# unchanged lines}}',

    'search.title': 'Found',
    'found.count': '{n, plural, one {# match} other {# matches}}, {files, plural, one {# file} other {# files}} searched',
    'search.none': 'Nothing was found.',
    'search.incomplete': 'There may be more: the search stopped at its limit.',
    'search.passedOver': 'Passed over, too large or not text: {n}.',
    'tree.title': 'Files',
    'tree.count': '{n, plural, one {# entry} other {# entries}}',
    'tree.none': 'The folder is empty.',
    'tree.incomplete': 'The list ends here; the folder holds more.',
    'table.title': 'Table',
    'table.count': '{n, plural, one {# row} other {# rows}}',
    'file.lines': 'lines {from}–{to} of {all}',
    'page.text': 'Text of the page',
    'page.chars': '{n, plural, one {# character} other {# characters}}',
    'page.more': 'The page goes on at character {n}.',

    'attached.title': 'Attachments',
    'attached.save': 'Save',
    'attached.unnamed': 'Attachment',
    'attached.elsewhere': 'in the session’s folder on the server',

    'breach.text': 'Stopped at a limit. {name} ({limit}): allowed {allowed}, observed {observed}.',
    'breach.wall_s': 'Time in seconds',
    'breach.cpu_s': 'Processor time in seconds',
    'breach.memory_mb': 'Memory in MB',
    'breach.file_mb': 'Size of one file in MB',
    'breach.disk_mb': 'Disk space in MB',
    'breach.output_kb': 'Output in KB',
    'breach.processes': 'Processes',
    'breach.open_files': 'Open files',

    'unit.bytes': '{n} B',
    'unit.kb': '{n} KB',
    'unit.mb': '{n} MB',
  }
})
