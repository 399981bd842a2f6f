% Tides from a record of heights; function not_code()
% A script with functions at its end.
clear; clc
import matlab.io.*
addpath('lib');

heights = load('harbour.mat').heights;
period = 12.42; % hours
days = 29.5;
names = {'M2', 'S2', "function in_a_string()"};
text = 'it''s a classdef NotAClass';
harmonic = @(t, a) a(1) * cos(2 * pi * t / period + a(2));
transposed = heights';
station.name = 'Harbour';
station.depths(3) = 12;
[top, at] = max(heights);
matrix = [1, 2 ...
    3, 4];

for k = 1:numel(heights)
    if heights(k) > 3, disp('high'), end
end

try
    fitted = fit_tide(heights, period);
catch problem
    warning(problem.message);
end

switch numel(names)
    case {1, 2}
        disp('few');
    otherwise
        disp('many');
end

function a = fit_tide(heights, period)
    % FIT_TIDE  Fits one harmonic.
    arguments
        heights (:, 1) double {mustBeFinite}
        period (1, 1) double = 12.42
    end
    times = (0:numel(heights) - 1)';
    cost = @(x) sum((heights - x(1) * cos(2 * pi * times / period)).^2);
    a = fminsearch(cost, [1, 0]);

    function y = nested(x)
        y = x + a(1);
    end
    a = nested(a);
end

function [low, high, ...
        mean_height] = extremes(heights)
    low = min(heights); high = max(heights);
    mean_height = mean(heights);
end

function plot_tide(varargin), plot(varargin{:}); end

function show
    disp shown
end

function varargout = many(n, ~)
    %{
    function in_a_block_comment()
    %}
    varargout = num2cell(1:n);
end

function total = ...
        sum_of(values)
    total = 0;
    while ~isempty(values), total = total + values(1); values(1) = []; end
end
