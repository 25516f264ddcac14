import pytest
import torch
from torch import nn

from kgnn.engine.fast.flat import flattened
from kgnn.methods.mean_teacher import MeanTeacher, Teacher
from kgnn.methods.semi_supervised import consistency
from tests.methods.stepping import FAST, GRAPHS, LABELS, NEW, gradients, one_step


def test_the_teacher_starts_as_a_copy_and_follows():
    term, step = one_step(MeanTeacher)
    student, teacher = step.module, term.teacher.module
    start = torch.nn.utils.parameters_to_vector(teacher.parameters()).clone()
    assert torch.equal(start, torch.nn.utils.parameters_to_vector(student.parameters()))
    assert teacher is not student
    with torch.no_grad():
        for parameter in student.parameters():
            parameter += 1
    assert torch.equal(start, torch.nn.utils.parameters_to_vector(teacher.parameters()))
    term.after_step(student)
    moved = torch.nn.utils.parameters_to_vector(teacher.parameters()) - start
    torch.testing.assert_close(moved, torch.full_like(moved, 0.5))


def test_the_student_learns_and_the_teacher_does_not():
    term, step = one_step(MeanTeacher)
    step.logits.retain_grad()
    value = term(step)
    value.backward()
    assert value > 0
    assert (step.logits.grad != 0).any(dim=1).all()  # labeled graphs too
    assert all(gradient is None for gradient in gradients(term.teacher.module))
    assert not any(parameter.requires_grad for parameter in term.teacher.module.parameters())


def test_the_teacher_is_quiet_where_there_is_no_noise():
    term, step = one_step(MeanTeacher, dropout=0.0, edge_drop=0.0)
    assert term(step).item() == 0.0  # still a copy


def test_each_fit_has_a_teacher_of_its_own():
    model = MeanTeacher(**FAST)
    first = model.fit(GRAPHS[:40], LABELS).predict_proba(NEW)
    assert (model.fit(GRAPHS[:40], LABELS).predict_proba(NEW) == first).all()


# The teacher


def student(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 2))


def state(module):
    return {name: value.clone() for name, value in module.state_dict().items()}


def move(module, shift=1.0):
    """Change all parameters and, by a pass, all buffers."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(shift * torch.randn_like(parameter))
    module(torch.randn(10, 3) + shift)


def test_a_teacher_starts_as_a_copy_of_its_own():
    module = student()
    teacher = Teacher(module, 0.99)
    before = state(module)
    move(module)
    for name, value in teacher.module.state_dict().items():
        assert torch.equal(value, before[name])
        assert not torch.equal(value, module.state_dict()[name])


def test_after_one_step_the_teacher_is_the_mean_of_start_and_student():
    module = student()
    teacher, before = Teacher(module, 0.99), state(module)
    move(module)
    teacher.update(module)
    for name, value in teacher.module.state_dict().items():
        now = module.state_dict()[name]
        if name.endswith("num_batches_tracked"):
            assert value == now == 1
        else:
            torch.testing.assert_close(value, (before[name] + now) / 2)


def test_shares_rise_up_to_the_decay():
    module = student()
    teacher = Teacher(module, 0.78)
    kept = []
    for _ in range(5):
        teacher.update(module)
        kept.append(teacher.kept)
    assert kept == pytest.approx([1 / 2, 2 / 3, 3 / 4, 0.78, 0.78])


def test_many_steps_are_the_recursion():
    module = student()
    teacher, expected = Teacher(module, 0.7), state(module)
    for step in range(1, 7):
        move(module)
        teacher.update(module)
        kept = min(1 - 1 / (step + 1), 0.7)
        for name, value in module.state_dict().items():
            if value.is_floating_point():
                expected[name] = kept * expected[name] + (1 - kept) * value
            else:
                expected[name] = value.clone()
    for name, value in teacher.module.state_dict().items():
        torch.testing.assert_close(value, expected[name])


def test_a_teacher_comes_to_a_student_that_stands_still():
    module = student()
    teacher = Teacher(module, 0.9)
    move(module, 5.0)
    for _ in range(300):
        teacher.update(module)
    for name, value in teacher.module.state_dict().items():
        torch.testing.assert_close(value, module.state_dict()[name])


def test_without_decay_the_teacher_is_the_student():
    module = student()
    teacher = Teacher(module, 0.0)
    move(module)
    teacher.update(module)
    for name, value in teacher.module.state_dict().items():
        assert torch.equal(value, module.state_dict()[name]), name


def test_the_student_is_not_changed():
    module = student()
    teacher = Teacher(module, 0.9)
    move(module)
    before = state(module)
    teacher.update(module)
    teacher.module(torch.randn(10, 3))
    for name, value in module.state_dict().items():
        assert torch.equal(value, before[name])
    assert all(parameter.requires_grad for parameter in module.parameters())


def test_the_term_is_not_zero_and_reaches_the_student_alone():
    module = student()
    teacher = Teacher(module, 0.99)
    x = torch.randn(20, 3)
    loss = consistency(module(x), teacher.module(x))  # each with a dropout mask of its own
    assert loss > 0
    loss.backward()
    assert all((parameter.grad != 0).any() for parameter in module[3].parameters())
    for parameter in teacher.module.parameters():
        assert not parameter.requires_grad
        assert parameter.grad is None


def test_a_teacher_has_all_statistics_and_can_be_judged():
    module = student()
    teacher = Teacher(module, 0.5)
    for _ in range(40):
        module(torch.randn(50, 3) * 3 + 7)
        teacher.update(module)
    assert teacher.module.state_dict().keys() == module.state_dict().keys()
    x = torch.randn(8, 3) * 3 + 7
    torch.testing.assert_close(teacher.module.eval()(x), module.eval()(x), rtol=0.2, atol=0.2)


def test_a_student_whose_weights_lie_in_one_vector_has_a_teacher_too():
    module = student()
    with flattened(module) as flat:
        teacher, before = Teacher(module, 0.99), state(module)
        flat.weights.data.add_(1.0)
        teacher.update(module)
        torch.testing.assert_close(teacher.module[0].weight, before["0.weight"] + 0.5)
        assert all(parameter.grad is None for parameter in teacher.module.parameters())
