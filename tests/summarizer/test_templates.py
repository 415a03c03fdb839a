"""The template engine: what it prints, and that a faulty template is refused with its line."""

import contextlib
import doctest

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lcm_lab.errors import PromptError
from lcm_lab.summarizer import templates
from lcm_lab.summarizer.template_functions import Value

VALUES: dict[str, Value] = {"Name": "Ada", "Count": 3, "Empty": "", "Zero": 0, "Odd": 'a "b"\n\u00e9\x01'}


def rendered(text: str, values: dict[str, Value] = VALUES) -> str:
    """What comes out of a template."""
    return templates.parse(text, file="leaf.tmpl", known=VALUES).render(values)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("{{.Name}} {{ .Count }}|{{\n.Name\n}}", "Ada 3|Ada"),
        ("{{$.Name}}", "Ada"),
        ("a \n {{- .Name -}} \t b", "aAdab"),
        ("a {{.Name -}}\n\n b {{- .Name}} c", "a AdabAda c"),
        ("{{-3}} {{- 3}}", "-33"),
        ("a{{/* not this }} */}}b {{- /* nor this */ -}} c", "abc"),
        ("{{if .Name}}yes{{end}}{{if .Empty}}no{{end}}{{if .Zero}}no{{end}}", "yes"),
        ("{{if .Empty}}1{{else}}2{{end}}", "2"),
        ("{{if .Empty}}1{{else if .Zero}}2{{else if .Count}}3{{else}}4{{end}}", "3"),
        ("{{if .Name}}{{if .Zero}}a{{else}}b{{end}}{{else}}c{{end}}", "b"),
        ("{{with .Name}}<{{.}} {{$.Count}}>{{end}}{{with .Empty}}no{{else}}none{{end}}", "<Ada 3>none"),
        ("{{with .Empty}}1{{else with .Count}}{{.}}{{end}}", "3"),
        ("{{with .Name}}{{with $.Count}}{{.}}{{end}}{{.}}{{end}}", "3Ada"),
        ('{{"a\\tb\\"\\u00e9\\x41"}}{{`\\raw"}}`}}', 'a\tb"\u00e9A\\raw"}}'),
        ("{{12}} {{-1}} {{0x1F}} {{true}} {{false}}", "12 -1 31 true false"),
        ("{{and .Name .Count}} {{and .Name .Zero}} {{or .Empty .Count}} {{or .Empty .Zero}}", "3 0 3 0"),
        ("{{and .Zero (len .Count)}}{{or .Name (len .Count)}}", "0Ada"),
        ("{{not .Empty}} {{not .Name}}", "true false"),
        ('{{eq .Name "Ada"}} {{eq .Count 1 2 3}} {{ne .Count 3}}', "true true false"),
        ("{{lt .Count 4}} {{le .Count 3}} {{gt .Count 3}} {{ge .Count 3}}", "true true false true"),
        ('{{lt "a" "b"}} {{ge "a" "b"}}', "true false"),
        ("{{len .Odd}} {{len .Empty}}", "9 0"),
        ('{{print 1 2 "a" 3 true}}|{{println .Name 1}}|{{print}}', "1 2a3 true|Ada 1\n|"),
        ('{{printf "%s/%d/%v/%v/%t/%%" .Name .Count .Name .Count true}}', "Ada/3/Ada/3/true/%"),
        ("{{printf `%q` .Odd}}", '"a \\"b\\"\\n\u00e9\\x01"'),
        ('{{printf "%5d|%-4d|%03d|%5s|%-5s|%.2s" 7 7 7 .Name .Name .Name}}', "    7|7   |007|  Ada|Ada  |Ad"),
        ('{{.Name | printf "(%s)"}} {{.Name | printf "%s-%s" "x" | len}}', "(Ada) 5"),
        ('{{if and (gt .Count 2) (eq .Name "Ada")}}both{{end}}', "both"),
        ('{{$x := .Name}}{{$x}}{{$x = "b"}}{{$x}}{{if .Name}}{{$x := 1}}{{$x}}{{end}}{{$x}}', "Adab1b"),
        ("{{if $n := .Count}}{{$n}}{{end}}{{with $n := .Name}}{{$n}}{{.}}{{end}}", "3AdaAda"),
        ('{{$x := "a"}}{{if .Name}}{{$x = "b"}}{{end}}{{$x}}', "b"),
    ],
)
def test_what_a_template_prints(text: str, wanted: str) -> None:
    assert rendered(text) == wanted


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("a\nb\n{{.Foo}}", 3, "unknown variable .Foo; known: .Count, .Empty, .Name, .Odd, .Zero"),
        ("{{if .Empty}}\n{{.Foo}}{{end}}", 2, "unknown variable .Foo"),
        ("{{if .Name}}{{else}}\n\n{{ .Foo }}{{end}}", 3, "unknown variable .Foo"),
        ("{{.Name.First}}", 1, "unknown variable .Name.First"),
        ("{{.name}}", 1, "unknown variable .name"),
        ("{{$.Foo}}", 1, "unknown variable .Foo"),
        ("{{$x}}", 1, "unknown variable $x"),
        ("{{if .Name}}{{$x := 1}}{{end}}\n{{$x}}", 2, "unknown variable $x"),
        ("{{if .Empty}}{{$x := 1}}{{else}}{{$x}}{{end}}", 1, "unknown variable $x"),
        ("\n{{upper .Name}}", 2, "unknown function upper; known: and, or, not"),
        ('{{print "a"\n  (upper .Name)}}', 2, "unknown function upper"),
        ("{{range .Name}}{{end}}", 1, "'range' cannot be used here"),
        ("{{html .Name}}", 1, "'html' cannot be used here"),
        ("\n{{.Name", 2, "an action is not closed"),
        ("{{.Name}\n}", 1, "'}' has no meaning"),
        ("{{ .Name {{.Name}}", 1, "'{' has no meaning"),
        ("{{/* no end", 1, "a comment is not closed"),
        ("{{/* a */ .Name}}", 1, "after the end of a comment"),
        ('{{print "abc}}', 1, "a text in quotes is not closed"),
        ("\n{{if .Name}}a", 2, "{{if}} is never closed: {{end}} is missing"),
        ("{{with .Name}}\n{{if $.Name}}a{{end}}", 1, "{{with}} is never closed"),
        ("a{{end}}", 1, "{{end}} without an {{if}}"),
        ("{{else}}", 1, "{{else}} without an {{if}}"),
        ("{{if .Name}}{{else}}{{else}}{{end}}", 1, "an {{else}} after the last"),
        ("{{if .Name}}{{else with .Name}}{{end}}", 1, "{{else with}} cannot follow {{if}}"),
        ("{{if .Name}}{{end if}}", 1, "nothing may stand beside 'end'"),
        ("{{if}}{{end}}", 1, "a value is missing"),
        ("{{}}", 1, "a value is missing"),
        ("{{.Name | }}", 1, "a value is missing"),
        ("{{()}}", 1, "a value is missing"),
        ("{{(.Name}}", 1, "a bracket is not closed"),
        ("{{.Name)}}", 1, "')' cannot stand here"),
        ("{{(.Name = 3}}", 1, "'=' cannot stand here"),
        ("{{:= 3}}", 1, "':=' cannot stand here"),
        ("{{$ := 3}}", 1, "$ cannot be assigned"),
        ("{{$x = 3}}", 1, "unknown variable $x"),
        ("{{.Name .Count}}", 1, ".Name is no function"),
        ("{{1 | .Name}}", 1, ".Name is no function"),
        ("{{len}}", 1, "len wants exactly 1 to work on, not 0"),
        ("{{eq .Name}}", 1, "eq wants 2 or more"),
        ("{{.}}", 1, "a lone dot"),
        ("{{print $}}", 1, "a lone $"),
        ("{{with .Name}}{{.Count}}{{end}}", 1, "write $.Count"),
        ("{{1.5}}", 1, "1.5 is no whole number"),
        ("{{99999999999999999999}}", 1, "too large"),
        ('{{"\\q"}}', 1, "\\q in a text means nothing"),
        ('{{"\\ud800"}}', 1, "\\u in a text means nothing"),
        ("{{.Name-}}", 1, "a trim marker stands apart"),
        ("{{" + "(" * 50 + "1" + ")" * 50 + "}}", 1, "nested more than 40 deep"),
        ("{{if 1}}" * 50 + "{{end}}" * 50, 1, "nested more than 40 deep"),
        ("{{1" + " | print" * 50 + "}}", 1, "nested more than 40 deep"),
    ],
)
def test_a_faulty_template_is_refused_with_its_line(text: str, line: int, said: str) -> None:
    with pytest.raises(PromptError) as caught:
        templates.parse(text, file="leaf.tmpl", known=VALUES)
    assert str(caught.value).startswith(f"leaf.tmpl:{line}: ")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\n{{len .Count}}", "len wants a text, not a number"),
        ("\n{{eq .Name .Count}}", "a text cannot be compared with a number"),
        ("\n{{eq 1 true}}", "a number cannot be compared with true or false"),
        ("\n{{lt true false}}", "no order"),
        ('\n{{printf "%d" .Name}}', "%d wants a number, not a text"),
        ('\n{{printf "%s" .Count}}', "%s wants a text, not a number"),
        ('\n{{printf "%d"}}', "no value for %d"),
        ('\n{{printf "%d" 1 2}}', "1 more value than places"),
        ('\n{{printf "%x" 1}}', "not %x"),
        ('\n{{printf "100%"}}', "not %"),
        ("\n{{printf 1}}", "printf wants a text first"),
    ],
)
def test_a_function_that_cannot_says_where(text: str, said: str) -> None:
    parsed = templates.parse(text, file="leaf.tmpl", known=VALUES)
    with pytest.raises(PromptError, match=r"^leaf\.tmpl:2: ") as caught:
        parsed.render(VALUES)
    assert said in str(caught.value)


def test_a_value_that_was_not_given_is_an_error() -> None:
    with pytest.raises(PromptError, match=r"no value was given for \.Name"):
        rendered("{{.Name}}", {})


def test_a_template_says_what_it_uses() -> None:
    parsed = templates.parse("{{.Name}}{{if .Zero}}{{len $.Odd}}{{end}}", file="a", known=VALUES)
    assert parsed.uses == {"Name", "Zero", "Odd"}


def test_the_example_of_the_docstring_holds() -> None:
    assert doctest.testmod(templates).failed == 0


@given(st.text().filter(lambda text: "{{" not in text))
@example("a } b }} {c} \r\n \ufeff \x00")
def test_plain_text_comes_out_as_it_is(text: str) -> None:
    assert rendered(text) == text


@given(st.text(), st.text())
def test_values_are_put_in_as_they_are(before: str, value: str) -> None:
    text = f"{before.replace('{', '')}{{{{.Name}}}}|"
    assert rendered(text, {**VALUES, "Name": value}) == f"{before.replace('{', '')}{value}|"


PIECES = st.sampled_from(
    '{{ }} {{-_ _-}} if_ else end with_ . .Name .Count .Foo $x $ := = | ( ) "a" " ` \\ 1 - 0x /* */ printf_ len_ and_ eq_ '
    'lt_ foo _ {{if_.Name}} {{else}} {{end}} {{with_.Count}} {{printf_"%q%d"_.Name_.Count}} "%5.3d" "%v" \u0663'.replace(
        "_", "\n"
    ).split(" ")
)
ANY_VALUE = st.one_of(st.text(), st.integers(), st.booleans(), st.just(10**5000))


@given(st.lists(PIECES | st.text(max_size=3)).map("".join), ANY_VALUE, ANY_VALUE)
@example("{{.Name}}", 10**5000, 1)
@example('{{printf "%d" .Name}}{{print .Name}}', 10**5000, 1)
def test_nothing_but_a_prompt_error_comes_out(text: str, name: Value, count: Value) -> None:
    with contextlib.suppress(PromptError):
        rendered(text, {**VALUES, "Name": name, "Count": count})


def test_long_templates_take_little_time() -> None:
    many = "{{.Name}}\n" * 20_000 + " " * 200_000 + "{{ " + " " * 200_000 + ".Count -}}" + " " * 200_000
    assert rendered(many).startswith("Ada\nAda\n")
