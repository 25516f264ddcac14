import json

from kgnn.reports.markup import Markup, element, escaped, script_json

_EVIL = "</script><script>alert(1)</script>\"'&\u2028"


def test_text_and_attributes_are_escaped():
    made = element("p", _EVIL, title=_EVIL)
    assert "<script" not in made
    assert made.count('"') == 2


def test_markup_is_not_escaped_twice():
    assert element("p", element("b", "a & b")) == "<p><b>a &amp; b</b></p>"
    assert escaped(Markup("&amp;")) == "&amp;"


def test_json_in_a_script_reads_back_and_cannot_end_the_script():
    text = script_json({_EVIL: [_EVIL]})
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {_EVIL: [_EVIL]}
